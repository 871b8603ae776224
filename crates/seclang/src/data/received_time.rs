//! When a request came, as the texts of the `TIME` variables. UTC: a server's own zone says nothing
//! about its clients.

use std::time::Duration;

use super::text::{Buffers, Text};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReceivedTime {
    pub(crate) epoch: Text,
    pub(crate) time: Text,
    pub(crate) day: Text,
    pub(crate) hour: Text,
    pub(crate) minute: Text,
    pub(crate) month: Text,
    pub(crate) second: Text,
    pub(crate) weekday: Text,
    pub(crate) year: Text,
}

impl ReceivedTime {
    pub(crate) fn of(since_epoch: Duration, buffers: &mut Buffers) -> Self {
        let seconds = since_epoch.as_secs();
        let (days, of_day) = (seconds / 86_400, seconds % 86_400);
        let (year, month, day) = civil(days);
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        let mut number = |value: u64| buffers.add_count(usize::try_from(value).unwrap_or(0));
        let mut moment = Self {
            epoch: number(seconds),
            time: Text::EMPTY,
            day: number(day),
            hour: number(hour),
            minute: number(minute),
            month: number(month - 1),
            second: number(second),
            weekday: number((days + 4) % 7),
            year: number(year),
        };
        moment.time = buffers.add(format!("{hour:02}:{minute:02}:{second:02}").as_bytes());
        moment
    }
}

/// Year, month and day of a day since 1970-01-01, in the Gregorian calendar.
fn civil(days: u64) -> (u64, u64, u64) {
    // Years begin in March here, so that the leap day comes last.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments() {
        for (seconds, time, date) in [
            (0, "00:00:00", (1970, 0, 1, 4)),
            (1_709_210_096, "12:34:56", (2024, 1, 29, 4)),
            (4_102_444_799, "23:59:59", (2099, 11, 31, 4)),
        ] {
            let mut buffers = Buffers::default();
            let moment = ReceivedTime::of(Duration::from_secs(seconds), &mut buffers);
            let number = |text| std::str::from_utf8(buffers.get(text)).unwrap().parse::<u64>().unwrap();
            assert_eq!(buffers.get(moment.time), time.as_bytes());
            assert_eq!(
                (number(moment.year), number(moment.month), number(moment.day), number(moment.weekday)),
                date
            );
        }
    }
}
