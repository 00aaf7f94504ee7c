local os = require("os")

-- Another backup, once for each new value.
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["example.com/backup-now"] = os.date("!%Y-%m-%dT%XZ")
return obj
