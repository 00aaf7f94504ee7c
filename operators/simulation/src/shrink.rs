//! The shortest schedule that still fails.

/// Leaves out what it can: first halves, then quarters, down to single ones, as long as `fails` says that the rest still does.
pub fn shrink<T: Clone>(all: &[T], mut fails: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut left = all.to_vec();
    let mut size = left.len().div_ceil(2);
    while size > 0 {
        let (mut at, mut shorter) = (0, false);
        while at < left.len() {
            let rest: Vec<T> = left.iter().take(at).chain(left.iter().skip(at + size)).cloned().collect();
            if fails(&rest) {
                left = rest;
                shorter = true;
            } else {
                at += size;
            }
        }
        if !shorter || size > 1 {
            size /= 2;
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_needed_is_left() {
        let all: Vec<u32> = (0..40).collect();
        let mut tries = 0;
        let left = shrink(&all, |rest| {
            tries += 1;
            rest.contains(&7) && rest.contains(&31)
        });
        assert_eq!(left, [7, 31]);
        assert!(tries < 60, "{tries} tries");
    }
}
