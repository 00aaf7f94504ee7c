local os = require("os")

-- Another member leads, once for each new value.
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["etcd.database.coreos.com/move-leader"] = os.date("!%Y-%m-%dT%XZ")
return obj
