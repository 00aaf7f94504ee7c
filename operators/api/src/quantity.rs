//! Quantities as the API server accepts them: text such as `250m`, or a number. k8s-openapi reads numbers as 32-bit
//! integers, or not at all; Kubernetes reads any (`resource.Quantity.UnmarshalJSON`).

use std::borrow::Cow;
use std::fmt;

use k8s_openapi::api::core::v1::{EnvVar, PersistentVolumeClaimSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// A quantity, as text. A number becomes the text that Kubernetes produces for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Quantity(pub String);

impl From<&str> for Quantity {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Spelling;

        impl Visitor<'_> for Spelling {
            type Value = Quantity;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity such as 250m, 1 or 128Mi")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Quantity, E> {
                Ok(Quantity(text.to_owned()))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Quantity, E> {
                Ok(Quantity(number.to_string()))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Quantity, E> {
                Ok(Quantity(number.to_string()))
            }

            // The API server stores what exceeds 64 bits as a float. Rust prints all its digits and no exponent.
            fn visit_f64<E: Error>(self, number: f64) -> Result<Quantity, E> {
                Ok(Quantity(number.to_string()))
            }
        }

        from.deserialize_any(Spelling)
    }
}

impl JsonSchema for Quantity {
    fn schema_name() -> Cow<'static, str> {
        IntOrString::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        IntOrString::json_schema(generator)
    }
}

/// Reads environment variables, each `divisor` as text or a number. For serde's `deserialize_with`.
pub(crate) fn environment<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<EnvVar>, D::Error> {
    spelled_as_text(from, |variables| {
        let divisors = variables.as_array_mut().into_iter().flatten();
        divisors.filter_map(|variable| variable.pointer_mut("/valueFrom/resourceFieldRef/divisor")).for_each(as_text);
    })
}

/// Reads a PVC spec, its `requests` and `limits` as text or numbers. For serde's `deserialize_with`.
pub(crate) fn claim<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PersistentVolumeClaimSpec>, D::Error> {
    spelled_as_text(from, |claim| {
        for amounts in ["/resources/requests", "/resources/limits"] {
            let amounts = claim.pointer_mut(amounts).and_then(Value::as_object_mut);
            amounts.into_iter().flatten().for_each(|(_, amount)| as_text(amount));
        }
    })
}

fn spelled_as_text<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
    respell: impl FnOnce(&mut Value),
) -> Result<T, D::Error> {
    let mut value = Value::deserialize(from)?;
    respell(&mut value);
    serde_json::from_value(value).map_err(Error::custom)
}

fn as_text(quantity: &mut Value) {
    if let Ok(Quantity(text)) = Quantity::deserialize(&*quantity) {
        *quantity = text.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etcd_cluster::PodPolicy;
    use k8s_openapi::api::core::v1::ResourceRequirements;
    use serde_json::json;

    fn read(quantity: &str) -> String {
        serde_json::from_str::<Quantity>(quantity).unwrap().0
    }

    #[test]
    fn every_number_that_the_api_server_stores_is_read() {
        assert_eq!(read("\"250m\""), "250m");
        assert_eq!(read("1"), "1");
        assert_eq!(read("4294967296"), "4294967296");
        assert_eq!(read("18446744073709551615"), "18446744073709551615");
        assert_eq!(read("1.8446744073709552e19"), "18446744073709552000");
        assert_eq!(read("0.5"), "0.5");
        assert!(serde_json::from_str::<Quantity>("true").is_err());
    }

    #[test]
    fn resources_claims_and_divisors_take_numbers() {
        let policy: PodPolicy = serde_json::from_value(json!({
            "resources": { "limits": { "memory": 4_294_967_296_u64 } },
            "persistentVolumeClaimSpec": { "resources": { "requests": { "storage": 2_147_483_648_u64 } } },
            "etcdEnv": [{ "name": "GOMEMLIMIT", "valueFrom": {
                "resourceFieldRef": { "resource": "limits.memory", "divisor": 1_048_576 } } }],
        }))
        .unwrap();
        let limits = ResourceRequirements::from(policy.resources.as_ref().unwrap()).limits.unwrap();
        assert_eq!(limits["memory"].0, "4294967296");
        let claim = policy.persistent_volume_claim_spec.unwrap();
        assert_eq!(claim.resources.unwrap().requests.unwrap()["storage"].0, "2147483648");
        let source = policy.etcd_env[0].value_from.clone().unwrap();
        assert_eq!(source.resource_field_ref.unwrap().divisor.unwrap().0, "1048576");
    }
}
