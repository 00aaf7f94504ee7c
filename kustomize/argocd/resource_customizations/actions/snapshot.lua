local os = require("os")

-- No owner: a snapshot outlives its database. The seconds keep names apart, also from those of the schedule, and are as many
-- digits as the longest name of a SampleDB leaves room for.
local snapshot = {
  apiVersion = "example.com/v1alpha1",
  kind = "SampleDBSnapshot",
  metadata = {
    name = obj.metadata.name .. "-" .. tostring(os.time()),
    namespace = obj.metadata.namespace,
  },
  spec = {
    sampleDB = obj.metadata.name,
    sampleDBUID = obj.metadata.uid,
  },
}
return { { operation = "create", resource = snapshot } }
