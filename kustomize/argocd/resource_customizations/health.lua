-- Health as the operator itself sees it: by conditions, never by the words of a phase. It is the same for every kind
-- and uses no library of Lua's, so that it needs no useOpenLibs. Why: docs/decisions/028.

-- Reasons of Ready=False that are a failure although the operator goes on by itself.
local failures = { QuorumLost = true }

-- What does not keep an object from being as it is asked to be, and what a person should read all the same.
local remarks = {
  { type = "BackupHealthy", status = "False" },
  { type = "BackupVerified", status = "False" },
  { type = "StorageHealthy", status = "False" },
  { type = "QuorumHealthy", status = "False" },
  { type = "ScalingActive", status = "False" },
  { type = "RouteAccepted", status = "False" },
  { type = "Warning", status = "True" },
  { type = "Conflict", status = "True" },
}

local function find(type, status)
  if obj.status == nil or obj.status.conditions == nil then
    return nil
  end
  for _, condition in ipairs(obj.status.conditions) do
    if condition.type == type and condition.status == status then
      return condition
    end
  end
  return nil
end

local function words(condition)
  return (condition.reason or condition.type) .. ": " .. (condition.message or "")
end

local function remarked(message)
  for _, remark in ipairs(remarks) do
    local condition = find(remark.type, remark.status)
    if condition ~= nil then
      message = message .. "; " .. remark.type .. "=" .. remark.status .. " " .. words(condition)
    end
  end
  return message
end

-- A single member has no quorum each time it is started again, and so may have a cluster that was never whole: that is no
-- failure, and would end a sync that merely waits.
local function is_failure(condition)
  local single = obj.spec ~= nil and obj.spec.size == 1
  return failures[condition.reason] == true and not single and obj.status.currentVersion ~= nil
end

local function health()
  -- Argo CD says so itself, and does not ask; whoever runs this file alone gets the same answer.
  if obj.metadata.deletionTimestamp ~= nil then
    return "Progressing", "Pending deletion"
  end

  -- An object that nobody has looked at has -1 by default; what is told of an earlier generation is not believed.
  if obj.status == nil or obj.status.observedGeneration ~= obj.metadata.generation then
    return "Progressing", remarked("waiting for the operator to look at it")
  end

  local ready, unready = find("Ready", "True"), find("Ready", "False")
  local stalled, reconciling = find("Stalled", "True"), find("Reconciling", "True")

  -- A person is needed. What serves says so in the message: that it serves is not what was asked for.
  if stalled ~= nil then
    if ready ~= nil then
      return "Degraded", "it serves, but " .. words(stalled)
    end
    return "Degraded", words(stalled)
  end
  if unready ~= nil and is_failure(unready) then
    return "Degraded", words(unready)
  end
  if reconciling ~= nil then
    return "Progressing", remarked(words(reconciling))
  end
  if obj.spec ~= nil and obj.spec.paused == true then
    local message = "paused"
    if ready ~= nil or unready ~= nil then
      message = (ready or unready).message or message
    end
    return "Suspended", remarked(message)
  end
  if ready ~= nil and ready.reason == "Hibernated" then
    return "Suspended", remarked(ready.message or "")
  end
  if ready ~= nil then
    return "Healthy", remarked(ready.message or "")
  end
  if unready ~= nil then
    return "Progressing", remarked(words(unready))
  end
  return "Progressing", remarked("waiting for the condition Ready")
end

local status, message = health()
return { status = status, message = message }
