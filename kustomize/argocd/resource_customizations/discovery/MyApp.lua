local deleting = obj.metadata.deletionTimestamp ~= nil
local paused = obj.spec.paused == true

local actions = {}
-- A paused one would be started again only when it goes on.
actions["restart"] = { ["disabled"] = deleting or paused }
actions["pause"] = { ["disabled"] = deleting or paused }
actions["resume"] = { ["disabled"] = deleting or not paused }
return actions
