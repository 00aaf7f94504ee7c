local deleting = obj.metadata.deletionTimestamp ~= nil

-- There are files to look at once it was taken, unless its Job is at them already.
local taken, under_way = false, false
if obj.status ~= nil then
  taken = obj.status.completedAt ~= nil
  under_way = obj.status.job ~= nil
end

local actions = {}
actions["verify"] = { ["disabled"] = deleting or under_way or not taken }
return actions
