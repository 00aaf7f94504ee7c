local deleting = obj.metadata.deletionTimestamp ~= nil
local suspended = obj.spec.suspend == true
local running = obj.status ~= nil and obj.status.running ~= nil

local actions = {}
actions["backup"] = { ["disabled"] = deleting or suspended or running }
return actions
