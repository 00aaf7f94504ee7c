//! Pure: parameters of the server beyond the spec's: WAL limits that fit the volume; and which of the spec's parameters no server
//! can start with.

use std::collections::BTreeMap;

use runtime::quantity;

use crate::operand::kinds::SampleDB;
use crate::operand::release::Release;

const MB: i128 = 1 << 20;
/// The units of sizes without a unit: of WAL, and of shared memory.
const MEGABYTE: u32 = 1 << 20;
const BLOCK: u32 = 8 << 10;
/// The fraction of the volume for WAL between two checkpoints, and for what a replication slot retains.
const WAL_FRACTION: i128 = 8;
const SLOT_FRACTION: i128 = 4;
/// Two segments: the server does not start with less.
const WAL_FLOOR: i128 = 32 * MB;
/// The fraction of the volume in reserve for a server that finds it full, and its minimum and maximum.
const RESERVE_FRACTION: i128 = 32;
const RESERVE_BOUNDS: (i128, i128) = (32 * MB, 256 * MB);
/// PostgreSQL's defaults.
const MAX_WAL: i128 = 1024 * MB;
const MIN_WAL: i128 = 80 * MB;
/// Connections that PostgreSQL reserves for superusers: the server does not start without any others.
const SUPERUSER_CONNECTIONS: i128 = 3;
/// The first major version that can limit what slots retain.
const SLOT_LIMITS_SINCE: u32 = 13;

/// The parameters to run with: those of the spec that do no harm, and WAL limits where the spec has none.
#[must_use]
pub fn effective_parameters(db: &SampleDB) -> BTreeMap<String, String> {
    let mut wanted = volume(db).map(|volume| limits(volume, limits_slots(db))).unwrap_or_default();
    let given = db.spec.engine.parameters.iter().filter(|(name, value)| rejection(db, name, value).is_none());
    wanted.extend(given.map(|(name, value)| (name.clone(), value.clone())));
    wanted
}

/// The limits for a volume of that size.
fn limits(volume: i128, slots: bool) -> BTreeMap<String, String> {
    let most = (volume / WAL_FRACTION).clamp(WAL_FLOOR, MAX_WAL);
    let least = (most / 4).clamp(WAL_FLOOR, MIN_WAL);
    let mut all = vec![("max_wal_size", most), ("min_wal_size", least)];
    all.extend(slots.then_some(("max_slot_wal_keep_size", volume / SLOT_FRACTION)));
    all.into_iter().map(|(name, bytes)| (name.to_owned(), format!("{}MB", bytes / MB))).collect()
}

/// How many bytes of the volume are in reserve, so that a server that filled it can start again. 0 on a volume so small that it
/// would be most of it.
pub(super) fn reserve(db: &SampleDB) -> i128 {
    let volume = volume(db).unwrap_or(0);
    if volume < 4 * RESERVE_BOUNDS.0 {
        0
    } else {
        (volume / RESERVE_FRACTION).clamp(RESERVE_BOUNDS.0, RESERVE_BOUNDS.1)
    }
}

/// The size of the volume: the requested one, or less while it has not grown to that.
fn volume(db: &SampleDB) -> Option<i128> {
    let asked = quantity::value(db.spec.storage.size())?;
    let claim = db.status.storage.claim.as_deref();
    let live = db.status.volumes.iter().find(|volume| claim.is_some() && volume.claim.as_deref() == claim);
    let capacity = live.and_then(|volume| quantity::value(volume.capacity.as_deref()?)).filter(|bytes| *bytes > 0);
    Some(capacity.map_or(asked, |capacity| capacity.min(asked)))
}

fn limits_slots(db: &SampleDB) -> bool {
    let engine = &db.status.engine;
    let asked = db.spec.engine.version.as_deref();
    let release = engine.version.as_deref().or(engine.running.as_deref()).or(asked).and_then(Release::parse);
    // A version that the spec leaves open is a recent one.
    release.is_none_or(|release| release.major >= SLOT_LIMITS_SINCE)
}

/// Why the server could not start with the spec's parameters, or would fill its volume, although it would accept them while it
/// runs.
#[must_use]
pub fn refusal(db: &SampleDB) -> Option<String> {
    db.spec.engine.parameters.iter().find_map(|(name, value)| rejection(db, name, value))
}

/// Why a parameter is refused.
fn rejection(db: &SampleDB, name: &str, value: &str) -> Option<String> {
    match name {
        "max_connections" => {
            let few = number(value)
                .filter(|(_, unit)| unit.is_empty())
                .and_then(|(connections, _)| nearest_integer(connections));
            let few = few.filter(|connections| *connections <= SUPERUSER_CONNECTIONS)?;
            Some(format!(
                "the server does not start with max_connections {few}: {SUPERUSER_CONNECTIONS} are reserved for superusers; \
                 set at least {}",
                SUPERUSER_CONNECTIONS + 1
            ))
        }
        // The operator uses that statement to set parameters, and to make sessions read-only while clients are blocked.
        "allow_alter_system" if !is_on(value) => Some(
            "with allow_alter_system off the operator cannot set parameters, because it uses ALTER SYSTEM: remove it"
                .into(),
        ),
        "shared_buffers" => {
            let (size, limit) = (bytes(value, BLOCK)?, db.spec.scheduling.resources.as_ref()?.limits.get("memory")?);
            quantity::value(&limit.0).filter(|limit| size >= *limit).map(|_| {
                format!(
                    "shared_buffers of {}MB is all the memory that the server may use: set less, or raise \
                     resources.limits.memory ({})",
                    size / MB,
                    limit.0
                )
            })
        }
        "max_wal_size" | "min_wal_size" if bytes(value, MEGABYTE)? < WAL_FLOOR => {
            Some(format!("the server does not start with so small a {name}: set at least {}MB", WAL_FLOOR / MB))
        }
        "max_wal_size" | "min_wal_size" | "wal_keep_size" => {
            let (size, asked) = (bytes(value, MEGABYTE)?, db.spec.storage.size());
            quantity::value(asked).filter(|volume| size > volume / 2).map(|_| {
                format!(
                    "{name} of {}MB is more than half of the volume, which WAL would fill: set less, or raise storage.size \
                     ({asked})",
                    size / MB
                )
            })
        }
        _ => None,
    }
}

/// Whether PostgreSQL reads it as true (`parse_bool` in `bool.c` accepts prefixes).
fn is_on(value: &str) -> bool {
    let value = value.trim().to_ascii_lowercase();
    value == "1" || value == "on" || (!value.is_empty() && ["true", "yes"].iter().any(|word| word.starts_with(&value)))
}

/// A size as PostgreSQL reads it: a multiple of `base`, unless it has a unit, and rounded to that. `None` if it is no number:
/// then the server decides.
fn bytes(value: &str, base: u32) -> Option<i128> {
    let (number, unit) = number(value)?;
    let base = f64::from(base);
    let unit = match unit {
        "" => base,
        "B" => 1.0,
        "kB" => 1024.0,
        "MB" => 1_048_576.0,
        "GB" => 1_073_741_824.0,
        "TB" => 1_099_511_627_776.0,
        _ => return None,
    };
    nearest_integer(number * unit / base)?.checked_mul(nearest_integer(base)?)
}

/// A number as PostgreSQL reads it (`parse_int` in `guc.c`), and the unit after it: hexadecimal after `0x`, octal after `0`,
/// otherwise decimal, and with a point or an exponent a fraction.
fn number(value: &str) -> Option<(f64, &str)> {
    let value = value.trim();
    let (sign, digits) = match value.split_at_checked(1) {
        Some(("-", rest)) => (-1.0, rest),
        Some(("+", rest)) => (1.0, rest),
        _ => (1.0, value),
    };
    let (radix, digits) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(rest) => (16, rest),
        None if digits.starts_with('0') => (8, digits),
        None => (10, digits),
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let (integer, rest) = digits.split_at(end);
    let (read, rest) = match rest.starts_with(['.', 'e', 'E']) {
        true if radix != 16 => fraction(digits)?,
        _ => (i64::from_str_radix(integer, radix).ok()?.to_string().parse().ok()?, rest),
    };
    Some((sign * read, rest.trim_start()))
}

/// A decimal fraction, and the rest: the longest prefix that is one.
fn fraction(text: &str) -> Option<(f64, &str)> {
    let most = text.find(|c: char| !(c.is_ascii_digit() || ".eE+-".contains(c))).unwrap_or(text.len());
    let beginnings = (1..=most).rev().filter_map(|end| text.split_at_checked(end));
    beginnings.filter_map(|(number, rest)| Some((number.parse().ok()?, rest))).next()
}

/// The nearest integer, as PostgreSQL rounds.
fn nearest_integer(number: f64) -> Option<i128> {
    format!("{:.0}", number.round_ties_even()).parse().ok()
}

#[cfg(test)]
mod tests {
    use runtime::cache::Projection;
    use serde_json::{Value, json};

    use super::*;

    fn database(spec: &Value, status: &Value) -> SampleDB {
        let db =
            json!({ "metadata": { "namespace": "n", "name": "shop", "uid": "u" }, "spec": spec, "status": status });
        SampleDB::decode(&db.to_string()).unwrap()
    }

    fn lines(db: &SampleDB) -> Vec<String> {
        effective_parameters(db).iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    #[test]
    fn wal_fits_the_volume() {
        let status = json!({ "engine": { "version": "17.12" }, "storage": { "claim": "data-shop-0" } });
        let small = lines(&database(&json!({}), &status));
        assert_eq!(small, ["max_slot_wal_keep_size=256MB", "max_wal_size=128MB", "min_wal_size=32MB"]);
        let least = lines(&database(&json!({ "storage": { "size": "64Mi" } }), &status));
        assert_eq!(least[1..], ["max_wal_size=32MB", "min_wal_size=32MB"]);
        let large = lines(&database(&json!({ "storage": { "size": "100Gi" } }), &status));
        assert_eq!(large[1..], ["max_wal_size=1024MB", "min_wal_size=80MB"]);
        // A volume that is to grow has not grown yet.
        let mut grows = status.clone();
        grows["volumes"] = json!([{ "claim": "data-shop-0", "capacity": "1Gi" }]);
        assert_eq!(lines(&database(&json!({ "storage": { "size": "100Gi" } }), &grows)), small);
        // The spec wins; and an old server does not know one of them.
        let mine = json!({ "engine": { "parameters": { "max_wal_size": "64MB" } } });
        let old = json!({ "engine": { "version": "12.22" } });
        assert_eq!(lines(&database(&mine, &old)), ["max_wal_size=64MB", "min_wal_size=32MB"]);
    }

    /// Otherwise each new server's pod would be outdated as soon as its version is known.
    #[test]
    fn limits_are_the_same_before_and_after_the_version_is_known() {
        for spec in [json!({}), json!({ "engine": { "version": "15" } })] {
            let known = json!({ "engine": { "version": "15.20", "running": "15.20" } });
            assert_eq!(
                effective_parameters(&database(&spec, &json!({}))),
                effective_parameters(&database(&spec, &known))
            );
        }
    }

    #[test]
    fn the_reserve_fits_the_volume() {
        let held = |size: &str| reserve(&database(&json!({ "storage": { "size": size } }), &json!({}))) / MB;
        assert_eq!(["64Mi", "128Mi", "1Gi", "4Gi", "100Gi"].map(held), [0, 32, 32, 128, 256]);
    }

    #[test]
    fn shared_memory_beyond_the_limit_is_refused() {
        let refused = |limit: &str, value: &str| {
            let parameters = json!({ "parameters": { "shared_buffers": value } });
            let spec = json!({ "engine": parameters, "resources": { "limits": { "memory": limit } } });
            refusal(&database(&spec, &json!({}))).is_some()
        };
        assert!(refused("512Mi", "512MB") && refused("1Gi", "7TB") && refused("512Mi", "65536"));
        assert!(!refused("512Mi", "511MB") && !refused("512Mi", "65535") && !refused("512Mi", "many"));
        let unlimited = json!({ "engine": { "parameters": { "shared_buffers": "7TB" } } });
        assert_eq!(refusal(&database(&unlimited, &json!({}))), None);
    }

    #[test]
    fn what_no_server_starts_with_is_refused() {
        let refused = |name: &str, value: &str| {
            refusal(&database(&json!({ "engine": { "parameters": { name: value } } }), &json!({})))
        };
        for (name, value) in [
            ("max_connections", "2"),
            ("max_connections", "3"),
            ("max_wal_size", "2MB"),
            ("max_wal_size", "31"),
            ("min_wal_size", "16MB"),
            ("max_wal_size", "1GB"),
            ("wal_keep_size", "600"),
            // As PostgreSQL reads numbers.
            ("max_connections", "0x2"),
            ("max_connections", "3.4"),
            ("max_connections", " 03 "),
            ("max_connections", "3e0"),
            ("max_connections", "-1"),
            ("max_wal_size", "0x10"),
            ("max_wal_size", "0.6GB"),
            ("max_wal_size", "6e2"),
            ("min_wal_size", "020 MB"),
            ("allow_alter_system", "off"),
            ("allow_alter_system", "F"),
        ] {
            assert!(refused(name, value).is_some_and(|why| why.contains(name)), "{name} {value}");
            let with = database(&json!({ "engine": { "parameters": { name: value } } }), &json!({}));
            assert_ne!(effective_parameters(&with).get(name).map(String::as_str), Some(value), "it gets into no file");
        }
        for (name, value) in
            [("max_connections", "4"), ("max_wal_size", "256MB"), ("wal_keep_size", "0"), ("work_mem", "2")]
                .into_iter()
                .chain([("max_connections", "0x64"), ("max_connections", "3.6"), ("max_connections", "1e2")])
                .chain([("allow_alter_system", "on"), ("allow_alter_system", "Tr")])
                .chain([("max_wal_size", "0.25GB"), ("max_wal_size", "0x80"), ("max_wal_size", "many")])
        {
            assert_eq!(refused(name, value), None, "{name} {value}");
        }
    }
}
