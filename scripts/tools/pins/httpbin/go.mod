module multi-operator/scripts/tools/pins/httpbin

go 1.26.0

require github.com/mccutchen/go-httpbin/v2 v2.15.0
