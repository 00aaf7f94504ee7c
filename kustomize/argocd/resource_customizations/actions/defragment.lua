local os = require("os")

-- The databases of all members are defragmented, once for each new value.
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["example.com/defragment"] = os.date("!%Y-%m-%dT%XZ")
return obj
