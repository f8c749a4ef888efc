//! Amounts as people write them.

/// Bytes: a whole number above 0, with a unit of 1024 where there is one: `2G`, `512M`, `64KiB`, `1000`.
pub fn size(text: &str) -> Result<u64, &'static str> {
    const WRONG: &str = "not a size above 0 such as 512M or 2G";
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let unit = text[digits..].trim_start().to_ascii_uppercase();
    let unit = unit.strip_suffix("IB").or_else(|| unit.strip_suffix('B')).unwrap_or(&unit);
    let power = match unit {
        "" => 0,
        "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return Err(WRONG),
    };
    let number: u64 = text[..digits].parse().map_err(|_| WRONG)?;
    number.checked_mul(1 << (10 * power)).filter(|bytes| *bytes > 0).ok_or(WRONG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_unit_or_are_bytes() {
        let rows = [
            ("1", 1),
            ("1000", 1000),
            ("12 B", 12),
            ("2k", 2048),
            ("64KiB", 65536),
            ("512M", 512 << 20),
            ("2G", 2 << 30),
            ("2gb", 2 << 30),
            ("1 TiB", 1 << 40),
        ];
        for (text, bytes) in rows {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "0", "0G", "G", "-1", "1.5G", "2X", "2GG", "1e9", "20000000T", "99999999999999999999"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
