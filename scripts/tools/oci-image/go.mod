module multi-operator/scripts/tools/oci-image

go 1.26.0
