local deleting = obj.metadata.deletionTimestamp ~= nil
local paused = obj.spec.paused == true

-- A snapshot of what does not serve would wait until it does.
local serves = false
if obj.status ~= nil and obj.status.conditions ~= nil then
  for _, condition in ipairs(obj.status.conditions) do
    if condition.type == "Ready" and condition.status == "True" then
      serves = true
    end
  end
end

local actions = {}
actions["restart"] = { ["disabled"] = deleting or paused }
actions["pause"] = { ["disabled"] = deleting or paused }
actions["resume"] = { ["disabled"] = deleting or not paused }
actions["snapshot"] = { ["disabled"] = deleting or not serves }
return actions
