//! The header of the column that a value stands in: of text with separators the first line, of an HTML table
//! the row of `th` cells.
//!
//! Headers are read once a body, and only those with a keyword are kept: most bodies have none.

use std::ops::Range;

use memchr::memmem;

use super::keyword::{Context, Keywords, Near};
use super::member::Members;

/// Longest header.
const MAX_ROW_BYTES: usize = 4 << 10;
/// Most columns.
const MAX_COLUMNS: usize = 64;
/// Most rows of `th` cells that are read.
const MAX_HEADERS: usize = 256;
/// What cells may stand apart by.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// The values of a body in their order, and the tables that they stand in.
#[derive(Debug, Default)]
pub struct Values {
    tables: Tables,
    is_html_read: bool,
    members: Members,
    cursor: Cursor,
    /// The value that was looked at last: a number may be a token too.
    last: Option<(usize, Near)>,
    /// Of values that are told by themselves.
    others: Context,
}

/// The headers of a body that have a keyword.
#[derive(Debug, Default)]
struct Tables(Vec<Table>);

/// Where in the tables of a body values are looked at, one after the other.
#[derive(Debug, Default)]
struct Cursor {
    context: Context,
    /// How many tables have begun.
    tables: usize,
    at: usize,
    /// Of the row at hand: separators, or beginnings of cells.
    cells: usize,
    is_quoted: bool,
}

#[derive(Debug)]
struct Table {
    /// Where its rows stand.
    rows: Range<usize>,
    form: Form,
    /// By column the rules of which a keyword stands in the header, far off.
    columns: Vec<Near>,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Separated(u8),
    Html,
}

impl Values {
    pub fn of(body: &[u8], keywords: &Keywords) -> Self {
        let mut tables = Tables::default();
        tables.read_separated(body, keywords);
        Self { tables, ..Self::default() }
    }

    /// Reads the headers of HTML tables, the first of which begins at `from` or behind it; once a body.
    #[inline]
    pub fn read_html(&mut self, body: &[u8], from: usize, keywords: &Keywords) {
        if !std::mem::replace(&mut self.is_html_read, true) {
            self.tables.read_html(body, from, keywords);
        }
    }

    /// Begins another text, which stands in no table.
    pub fn begin(&mut self) {
        *self = Self::default();
    }

    /// The rules of which a keyword stands before a value, or above it.
    #[inline]
    pub fn near(&mut self, keywords: &Keywords, body: &[u8], at: usize) -> Near {
        if let Some((_, near)) = self.last.as_ref().filter(|(last, _)| *last == at) {
            return near.clone();
        }
        let near = self.cursor.near(&self.tables, &mut self.members, keywords, body, at);
        self.last = Some((at, near.clone()));
        near
    }

    /// The rules of which a keyword stands before a value that is told by itself; no matter what above it.
    #[inline]
    pub fn near_other(&mut self, keywords: &Keywords, body: &[u8], at: usize) -> Near {
        self.members.near(body, at, || self.others.near(keywords, body, at))
    }
}

impl Tables {
    fn read_separated(&mut self, body: &[u8], keywords: &Keywords) {
        self.push(separated(body, |cell| keywords.near(cell, cell.len()).far_off()));
    }

    fn read_html(&mut self, body: &[u8], mut from: usize, keywords: &Keywords) {
        let near = |cell: &[u8]| keywords.near(cell, cell.len()).far_off();
        let mut end = 0;
        for _ in 0..MAX_HEADERS {
            let Some((header, cells)) = html_header(body, from) else { break };
            if end < header.end {
                let found = memmem::find(body.get(header.end..).unwrap_or(&[]), b"</table");
                end = found.map_or(body.len(), |found| header.end + found);
            }
            from = header.end;
            let rows = from..end;
            let columns = cells.into_iter().map(|cell| near(body.get(cell).unwrap_or(&[]))).collect();
            self.push(Some(Table { rows, form: Form::Html, columns }));
        }
    }

    fn push(&mut self, table: Option<Table>) {
        self.0.extend(table.filter(|table| table.columns.iter().any(|near| !near.is_empty())));
    }
}

impl Cursor {
    #[inline]
    fn near(
        &mut self,
        tables: &Tables,
        members: &mut Members,
        keywords: &Keywords,
        body: &[u8],
        at: usize,
    ) -> Near {
        let near = members.near(body, at, || self.context.near(keywords, body, at));
        match self.above(tables, body, at) {
            Some(above) => near.and(above),
            None => near,
        }
    }

    /// The rules of which a keyword stands in the header above the value at `at`, which is behind those that
    /// were asked for before.
    #[inline]
    fn above<'t>(&mut self, tables: &'t Tables, body: &[u8], at: usize) -> Option<&'t Near> {
        if tables.0.is_empty() { None } else { self.advance(tables, body, at) }
    }

    fn advance<'t>(&mut self, tables: &'t Tables, body: &[u8], at: usize) -> Option<&'t Near> {
        while let Some(next) = tables.0.get(self.tables).filter(|table| table.rows.start <= at) {
            (self.tables, self.at) = (self.tables + 1, next.rows.start);
            (self.cells, self.is_quoted) = (0, false);
        }
        let table = tables.0.get(self.tables.checked_sub(1)?).filter(|table| table.rows.contains(&at))?;
        let between = body.get(self.at..at).unwrap_or(&[]);
        self.at = self.at.max(at);
        match table.form {
            Form::Separated(separator) => {
                for byte in between {
                    match byte {
                        b'\n' => (self.cells, self.is_quoted) = (0, false),
                        b'"' => self.is_quoted = !self.is_quoted,
                        _ => self.cells += usize::from(*byte == separator && !self.is_quoted),
                    }
                }
                table.columns.get(self.cells)
            }
            Form::Html => {
                for tag in memmem::find_iter(between, b"<t") {
                    match between.get(tag + 2) {
                        Some(b'r') => self.cells = 0,
                        Some(b'd' | b'h') => self.cells += 1,
                        _ => {}
                    }
                }
                table.columns.get(self.cells.checked_sub(1)?)
            }
        }
    }
}

/// The first line, if it is that of a table.
fn separated(body: &[u8], near: impl Fn(&[u8]) -> Near) -> Option<Table> {
    let first = body.get(..MAX_ROW_BYTES.min(body.len()))?;
    let end = memchr::memchr(b'\n', first)?;
    let line = first.get(..end)?;
    // A line of JSON or markup has commas too.
    if matches!(line.trim_ascii_start().first(), Some(b'{' | b'[' | b'<')) {
        return None;
    }
    let count = |separator: &u8| memchr::memchr_iter(*separator, line).count();
    let separator = SEPARATORS.into_iter().max_by_key(count).filter(|separator| count(separator) > 0)?;
    let columns = cells(line, separator).take(MAX_COLUMNS);
    let columns = columns.map(|cell| near(line.get(cell).unwrap_or(&[]))).collect();
    Some(Table { rows: end..body.len(), form: Form::Separated(separator), columns })
}

/// The cells of a line; separators within double quotes are part of a cell (RFC 4180).
fn cells(line: &[u8], separator: u8) -> impl Iterator<Item = Range<usize>> {
    let mut start = Some(0);
    std::iter::from_fn(move || {
        let from = start?;
        let mut is_quoted = false;
        let rest = line.get(from..).unwrap_or(&[]);
        let length = rest.iter().position(|byte| {
            is_quoted ^= *byte == b'"';
            *byte == separator && !is_quoted
        });
        start = length.map(|length| from + length + 1);
        Some(from..from + length.unwrap_or(rest.len()))
    })
}

/// The next row of `th` cells: where it stands, and the texts of its cells.
fn html_header(body: &[u8], from: usize) -> Option<(Range<usize>, Vec<Range<usize>>)> {
    let (mut cells, mut at, mut row) = (Vec::new(), from, None);
    while let Some(found) = memmem::find(body.get(at..)?, b"<th") {
        let start = at + found;
        let (first, end) = *row.get_or_insert((start, start + MAX_ROW_BYTES));
        let between = body.get(at..start)?;
        let goes_on = cells.is_empty() || memmem::find(between, b"<t").is_none();
        if start > end || !goes_on || cells.len() == MAX_COLUMNS {
            return Some((first..at, cells));
        }
        at = start + 3;
        // `<thead>` begins the same.
        if !matches!(body.get(at), Some(b'>' | b' ' | b'\n' | b'\t' | b'\r')) {
            row = row.filter(|_| !cells.is_empty());
            continue;
        }
        let rest = body.get(at..body.len().min(at + MAX_ROW_BYTES))?;
        let Some(open) = memchr::memchr(b'>', rest) else { continue };
        let length = memmem::find(rest, b"</th").filter(|close| *close > open).unwrap_or(open + 1);
        cells.push(at + open + 1..at + length);
        at += length;
    }
    (!cells.is_empty()).then(|| (row.map_or(at, |(first, _)| first)..at, cells))
}

#[cfg(test)]
mod tests {
    use super::super::keyword::Entries;
    use super::*;

    /// Rules above each `#` of a body.
    fn above(body: &str) -> Vec<Vec<usize>> {
        let mut entries = Entries::default();
        for (rule, keyword) in ["nhs number", "nip"].into_iter().enumerate() {
            entries.add(keyword, rule).unwrap();
        }
        let (mut tables, keywords) = (Tables::default(), Keywords::new(entries));
        tables.read_separated(body.as_bytes(), &keywords);
        tables.read_html(body.as_bytes(), 0, &keywords);
        let mut cursor = Cursor::default();
        let mut rules = |(at, _)| {
            let near = cursor.above(&tables, body.as_bytes(), at);
            near.map_or_else(Vec::new, |near| near.rules().collect())
        };
        body.match_indices('#').map(&mut rules).collect()
    }

    #[test]
    fn a_line_of_names_names_the_columns_below() {
        let none = Vec::new();
        assert_eq!(
            above("name,NHS number,nip\nAnn,#,#\n\"O, b\",#,#\n#"),
            [vec![0], vec![1], vec![0], vec![1], none.clone()]
        );
        assert_eq!(above("id;\"nhs, number\";x\n1;#;#\n"), [vec![0], none.clone()]);
        assert_eq!(above("nip\tother\n#\t#\n#"), [vec![1], none, vec![1]]);
        // One line is no table, nor is one without separators, nor the header itself.
        for text in [
            "{\"nip\":1,\"a\":2}\n{\"nip\":#,\"a\":#}",
            "nip,other,#",
            "nip\n#\n",
            "nip,#\n",
            "",
            "\n",
            "nip,\n",
        ] {
            assert!(above(text).iter().all(Vec::is_empty), "{text}");
        }
    }

    #[test]
    fn a_row_of_header_cells_names_the_columns_of_its_table() {
        let none = Vec::new();
        let table = "<table><thead><tr><th>Name</th><th class=\"n\">NHS number</th><th>NIP</th></tr></thead>\
                     <tbody><tr><td>Ann</td><td>#</td><td class=\"#\">#</td></tr>\
                     <tr><th>Bob</th><td>#</td></tr></tbody></table><p>#</p>";
        assert_eq!(above(table), [vec![0], vec![1], vec![1], vec![0], none.clone()]);
        let other = "<table><tr><th>id</th><th>x</th></tr><tr><td>#</td><td>#</td></tr></table>";
        assert_eq!(above(&format!("{table}{other}{table}")).len(), 12);
        assert_eq!(above(&format!("{table}{other}"))[5..], [none.clone(), none]);
        for text in ["<th", "<th>", "<th>nip", "<thead>#", "<th>nip</th>#", "<th><th>nip</th><tr>#"] {
            above(text);
        }
    }
}
