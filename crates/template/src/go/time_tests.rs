use proptest::prelude::*;

use super::*;

/// 2024-02-03 04:05:06.070809 UTC, a Saturday.
fn sample() -> ZonedDateTime {
    parse(RFC3339_NANO, "2024-02-03T04:05:06.070809Z", &TimeZone::UTC).unwrap()
}

#[test]
fn layouts_format_as_in_go() {
    let cases = [
        ("2006-01-02T15:04:05Z07:00", "2024-02-03T04:05:06Z"),
        (RFC3339_NANO, "2024-02-03T04:05:06.070809Z"),
        ("Mon Jan _2 15:04:05 2006", "Sat Feb  3 04:05:06 2024"),
        ("Monday, 02-Jan-06 15:04:05 MST", "Saturday, 03-Feb-24 04:05:06 UTC"),
        ("3:04PM", "4:05AM"),
        ("03:4:5 pm", "04:5:6 am"),
        ("January 2", "February 3"),
        ("1/2/06", "2/3/24"),
        ("002 __2", "034  34"),
        ("15:04:05.000", "04:05:06.070"),
        ("15:04:05,000000", "04:05:06,070809"),
        ("15:04:05.999", "04:05:06.07"),
        ("-0700 -07:00 -07 Z0700", "+0000 +00:00 +00 Z"),
        ("20060102150405", "20240203040506"),
        ("Janet Monk _2006", "Janet Monk _2024"),
        ("no elements", "no elements"),
    ];
    for (layout, expected) in cases {
        assert_eq!(format(layout, &sample()), expected, "{layout}");
    }
}

#[test]
fn zones_have_their_names_and_offsets() {
    let time = sample().with_time_zone(zone("America/New_York").unwrap());
    assert_eq!(format("15:04 MST -0700", &time), "23:05 EST -0500");
    assert_eq!(format(RFC3339, &time), "2024-02-02T23:05:06-05:00");
    assert!(zone("Mars/Base").is_none());
}

#[test]
fn texts_parse_as_in_go() {
    let cases = [
        ("2006-01-02", "2024-02-03", "2024-02-03T00:00:00Z"),
        (RFC3339, "2024-02-03T04:05:06+02:00", "2024-02-03T04:05:06+02:00"),
        (RFC3339, "2024-02-03T04:05:06.5Z", "2024-02-03T04:05:06.5Z"),
        ("Mon Jan _2 15:04:05 2006", "Sat Feb  3 04:05:06 2024", "2024-02-03T04:05:06Z"),
        ("3:04PM", "4:05PM", "0000-01-01T16:05:00Z"),
        ("3:04PM", "12:05AM", "0000-01-01T00:05:00Z"),
        ("02 Jan 06 15:04 MST", "03 Feb 24 04:05 UTC", "2024-02-03T04:05:00Z"),
        ("2006 002", "2024 060", "2024-02-29T00:00:00Z"),
        ("Jan 2, 2006", "february 3, 2024", ""),
        ("January 2, 2006", "FEBRUARY 3, 2024", "2024-02-03T00:00:00Z"),
        ("2006-01-02", "2024-02-30", ""),
        ("2006-01-02", "2024-2-3", ""),
        ("2006-01-02", "2024-02-03x", ""),
        ("2006-01-02", "x", ""),
        ("15:04", "24:00", ""),
        ("06", "69", "1969-01-01T00:00:00Z"),
        ("06", "68", "2068-01-01T00:00:00Z"),
    ];
    for (layout, text, expected) in cases {
        let found = parse(layout, text, &TimeZone::UTC);
        let found = found.map_or(String::new(), |time| format(RFC3339_NANO, &time));
        assert_eq!(found, expected, "{layout} of {text}");
    }
}

#[test]
fn strftime_letters_are_those_of_argo() {
    let unix_ms = sample().timestamp().as_millisecond();
    let cases = [
        ('Y', "2024"),
        ('y', "24"),
        ('m', "02"),
        ('d', "03"),
        ('H', "04"),
        ('I', "04"),
        ('M', "05"),
        ('S', "06"),
        ('L', ".070"),
        ('B', "February"),
        ('b', "Feb"),
        ('A', "Saturday"),
        ('a', "Sat"),
        ('p', "AM"),
        ('Z', "UTC"),
        ('z', "+0000"),
    ];
    for (letter, expected) in cases {
        assert_eq!(strftime_letter_ms(letter, unix_ms).as_deref(), Some(expected), "{letter}");
    }
    assert_eq!(strftime_letter_ms('Q', unix_ms), None);
}

#[test]
fn milliseconds_go_both_ways() {
    assert_eq!(parse_ms(RFC3339, "1970-01-01T00:00:01.5Z").unwrap(), 1500);
    assert_eq!(format_ms(RFC3339, 1500), "1970-01-01T00:00:01Z");
    assert_eq!(format_ms("2006", i64::MAX), "9999");
}

proptest! {
    #[test]
    fn what_a_full_layout_writes_it_reads(unix_ms in -62_000_000_000_000_i64..253_000_000_000_000) {
        prop_assert_eq!(parse_ms(RFC3339_NANO, &format_ms(RFC3339_NANO, unix_ms)), Ok(unix_ms));
    }

    #[test]
    fn no_layout_or_text_panics(layout in "[0-9A-Za-z_ .,:Zé+-]{0,30}", text in ".{0,30}") {
        drop(parse_ms(&layout, &text));
        drop(format_ms(&layout, 0));
        drop(crate::go::duration::parse(&text));
    }
}
