//! Resources as integers.

use serde::{Deserialize, Serialize};

/// What a job asks for, or a machine has. All integers, so that sums are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Resources {
    /// Thousandths of a CPU.
    pub cpu_milli: u64,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Whole GPUs.
    pub gpus: u64,
}

impl Resources {
    /// Whether `self` fits into `free`.
    #[must_use]
    pub fn fits(&self, free: &Resources) -> bool {
        self.cpu_milli <= free.cpu_milli
            && self.memory_bytes <= free.memory_bytes
            && self.gpus <= free.gpus
    }

    /// The sum, saturating.
    #[must_use]
    pub fn plus(&self, other: &Resources) -> Resources {
        Resources {
            cpu_milli: self.cpu_milli.saturating_add(other.cpu_milli),
            memory_bytes: self.memory_bytes.saturating_add(other.memory_bytes),
            gpus: self.gpus.saturating_add(other.gpus),
        }
    }

    /// The difference; `None` where it would be negative.
    #[must_use]
    pub fn minus(&self, other: &Resources) -> Option<Resources> {
        Some(Resources {
            cpu_milli: self.cpu_milli.checked_sub(other.cpu_milli)?,
            memory_bytes: self.memory_bytes.checked_sub(other.memory_bytes)?,
            gpus: self.gpus.checked_sub(other.gpus)?,
        })
    }

    /// Whether nothing is asked for.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Resources::default()
    }
}

/// A Kubernetes quantity (`250m`, `1.5Gi`, `1e3`) in thousandths of its unit, rounded up as
/// apimachinery's `Quantity.MilliValue` does. `None` when it is not one, or negative, or too large.
#[must_use]
pub fn quantity_milli(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let (numerator, denominator) = suffix_ratio(suffix)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || whole.len() > 19 || fraction.len() > 15 {
        return None;
    }
    let scale = 10u128.pow(u32::try_from(fraction.len()).ok()?);
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let value = digits.checked_mul(1000)?.checked_mul(numerator)?;
    u64::try_from(value.div_ceil(scale.checked_mul(denominator)?)).ok()
}

/// What a Kubernetes resource list (`cpu`, `memory`, `nvidia.com/gpu`, ...) says of the resources
/// that are known here. What is no quantity counts as not said.
#[must_use]
pub fn of_quantities(list: impl IntoIterator<Item = (String, String)>) -> Resources {
    let mut resources = Resources::default();
    for (name, text) in list {
        match name.as_str() {
            "cpu" => resources.cpu_milli = quantity_milli(&text).unwrap_or(0),
            "memory" => resources.memory_bytes = quantity(&text).unwrap_or(0),
            name if name.ends_with("/gpu") => resources.gpus = quantity(&text).unwrap_or(0),
            _ => {}
        }
    }
    resources
}

/// A Kubernetes quantity in whole units, rounded up (`Quantity.Value`).
#[must_use]
pub fn quantity(text: &str) -> Option<u64> {
    quantity_milli(text).map(|milli| milli.div_ceil(1000))
}

fn suffix_ratio(suffix: &str) -> Option<(u128, u128)> {
    let ratio = match suffix {
        "n" => (1, 1_000_000_000),
        "u" => (1, 1_000_000),
        "m" => (1, 1000),
        "" => (1, 1),
        "k" => (1000, 1),
        "M" => (1_000_000, 1),
        "G" => (1_000_000_000, 1),
        "T" => (1_000_000_000_000, 1),
        "P" => (1_000_000_000_000_000, 1),
        "E" => (1_000_000_000_000_000_000, 1),
        "Ki" => (1 << 10, 1),
        "Mi" => (1 << 20, 1),
        "Gi" => (1 << 30, 1),
        "Ti" => (1 << 40, 1),
        "Pi" => (1 << 50, 1),
        "Ei" => (1 << 60, 1),
        _ => {
            let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            let power = 10u128.checked_pow(exponent.unsigned_abs())?;
            if exponent >= 0 { (power, 1) } else { (1, power) }
        }
    };
    Some(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_kubernetes_reads_them() {
        for (text, milli) in [
            ("250m", Some(250)),
            ("1", Some(1000)),
            ("0.1", Some(100)),
            ("1.5Gi", Some(1536 * 1024 * 1024 * 1000)),
            ("1e3", Some(1_000_000)),
            ("1E3", Some(1_000_000)),
            ("100u", Some(1)),
            ("2k", Some(2_000_000)),
            ("", None),
            (".", None),
            ("-1", None),
            ("1 Gi", None),
            ("1GiB", None),
            ("99999999999999999Ei", None),
        ] {
            assert_eq!(quantity_milli(text), milli, "{text}");
        }
        assert_eq!(quantity("100m"), Some(1), "rounded up");
    }

    #[test]
    fn resources_never_go_below_zero() {
        let small = Resources { cpu_milli: 1, ..Resources::default() };
        let large = Resources { cpu_milli: 2, ..Resources::default() };
        assert_eq!(small.minus(&large), None);
        assert_eq!(large.minus(&small), Some(small));
        assert!(small.fits(&large) && !large.fits(&small));
    }
}
