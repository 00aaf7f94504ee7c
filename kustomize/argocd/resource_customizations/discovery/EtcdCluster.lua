local deleting = obj.metadata.deletionTimestamp ~= nil
local paused = obj.spec.paused == true

-- Where data is in pods, a restart replaces members, which takes three of them.
local durable, quorum = true, false
if obj.status ~= nil then
  if obj.status.storage ~= nil and obj.status.storage.durable == false then
    durable = false
  end
  for _, condition in ipairs(obj.status.conditions or {}) do
    if condition.type == "QuorumHealthy" and condition.status == "True" then
      quorum = true
    end
  end
end
local replaceable = durable or obj.spec.size >= 3

local actions = {}
actions["restart"] = { ["disabled"] = deleting or paused or not replaceable }
actions["pause"] = { ["disabled"] = deleting or paused }
actions["resume"] = { ["disabled"] = deleting or not paused }
actions["move-leader"] = { ["disabled"] = deleting or paused or not quorum or obj.spec.size < 2 }
actions["defragment"] = { ["disabled"] = deleting or paused or not quorum }
return actions
