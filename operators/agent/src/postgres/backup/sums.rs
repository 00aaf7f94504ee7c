//! Pure: sums of lines in any order: rows of a table, objects of a database.

use serde::{Deserialize, Serialize};

/// The number of lines, and a sum of them that does not depend on their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sum {
    pub(crate) count: u64,
    /// In hexadecimal.
    pub(crate) checksum: String,
}

/// Sums up lines. It finds errors; it does not resist an attacker who constructs lines with the same sum.
#[derive(Default)]
pub(crate) struct SumBuilder {
    count: u64,
    sum: u64,
}

impl SumBuilder {
    pub(crate) fn add(&mut self, line: &[u8]) {
        // FNV-1a; the finalizer of splitmix64 spreads its bits.
        let hash = line.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.count += 1;
        self.sum = self.sum.wrapping_add(hash ^ (hash >> 31));
    }

    pub(crate) fn sum(&self) -> Sum {
        Sum { count: self.count, checksum: format!("{:016x}", self.sum) }
    }
}

/// The checksum of all lines, from the checksums of two parts.
pub(crate) fn added(one: &str, other: &str) -> Option<String> {
    let number = |sum: &str| u64::from_str_radix(sum, 16).ok();
    Some(format!("{:016x}", number(one)?.wrapping_add(number(other)?)))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn sum(lines: &[&str]) -> Sum {
        let mut summing = SumBuilder::default();
        lines.iter().for_each(|line| summing.add(line.as_bytes()));
        summing.sum()
    }

    #[test]
    fn the_order_does_not_matter_and_the_values_do() {
        assert_eq!(sum(&["1\ta", "2\tb"]), sum(&["2\tb", "1\ta"]));
        assert_ne!(sum(&["100", "18"]), sum(&["100", "6"]));
        assert_ne!(sum(&["a", "a"]), sum(&["b", "b"]));
        assert_ne!(sum(&["a", "a"]), sum(&["a"]));
        assert_eq!(sum(&[""]).count, 1);
        let parts = added(&sum(&["a", "b"]).checksum, &sum(&["c"]).checksum);
        assert_eq!(parts, Some(sum(&["c", "a", "b"]).checksum));
        assert_eq!(added("1", "x"), None);
    }
}
