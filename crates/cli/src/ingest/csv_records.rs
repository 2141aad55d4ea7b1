//! Records of a CSV file (RFC 4180): fields as text, whether they were quoted, and the line they start on.
//!
//! A parser of our own because two things matter here that others do not tell: where a record starts, quoted line breaks
//! counted, and whether an empty field was quoted, which tells an empty string from null. A line ends in a line feed, a
//! carriage return or both.

use std::io::BufRead;

use super::ROW_LIMIT;

/// Reads records.
#[derive(Debug)]
pub(super) struct Records<R> {
    input: R,
    delimiter: u8,
    /// The line that the next byte is on, from 1.
    line: u64,
    /// Whether the last byte was a carriage return, so that a line feed belongs to it.
    after_return: bool,
}

/// One record.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// The line it starts on, from 1.
    pub(super) line: u64,
    bytes: Vec<u8>,
    /// End in `bytes`, and whether the field was quoted.
    fields: Vec<(usize, bool)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing of the field yet.
    Start,
    Plain,
    Quoted,
    /// A quote within a quoted field: its end, or the first of two.
    Quote,
}

/// What is wrong, and on which line.
#[derive(Debug)]
pub(super) struct Malformed {
    pub(super) line: u64,
    pub(super) message: String,
}

impl<R: BufRead> Records<R> {
    pub(super) fn new(input: R, delimiter: u8) -> Self {
        Self { input, delimiter, line: 1, after_return: false }
    }

    /// Reads the next record; false at the end.
    pub(super) fn read(&mut self, record: &mut Record) -> Result<bool, Malformed> {
        record.clear(self.line);
        let mut state = State::Start;
        loop {
            let buffer = match self.input.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Malformed { line: self.line, message: format!("cannot read on: {error}") }),
            };
            if buffer.is_empty() {
                return record.end(state);
            }
            let mut used = 0;
            let mut whole = false;
            for &byte in buffer {
                used += 1;
                let second_of_two = byte == b'\n' && self.after_return;
                self.after_return = byte == b'\r';
                if second_of_two && record.is_untouched(state) {
                    continue;
                }
                match record.take(byte, self.delimiter, state) {
                    Ok(Some(next)) => state = next,
                    Ok(None) => whole = true,
                    Err(message) => return Err(Malformed { line: self.line, message }),
                }
                if byte == b'\r' || byte == b'\n' && !second_of_two {
                    self.line += 1;
                }
                if whole {
                    break;
                }
            }
            self.input.consume(used);
            if whole {
                return record.check().map(|()| true);
            }
            if record.bytes.len() > ROW_LIMIT {
                let message = format!("a record of over {} MiB: is a quote not closed?", ROW_LIMIT >> 20);
                return Err(Malformed { line: record.line, message });
            }
        }
    }
}

impl Record {
    fn clear(&mut self, line: u64) {
        self.line = line;
        self.bytes.clear();
        self.fields.clear();
    }

    /// Whether nothing of it was read yet.
    fn is_untouched(&self, state: State) -> bool {
        state == State::Start && self.fields.is_empty()
    }

    /// The end of the file; false if no record ends here.
    fn end(&mut self, state: State) -> Result<bool, Malformed> {
        if state == State::Quoted {
            return Err(Malformed { line: self.line, message: "a quote that is never closed".into() });
        }
        if self.is_untouched(state) {
            return Ok(false);
        }
        self.end_field(state == State::Quote);
        self.check().map(|()| true)
    }

    /// Takes one byte: the next state, or `None` at the record's end.
    fn take(&mut self, byte: u8, delimiter: u8, state: State) -> Result<Option<State>, String> {
        Ok(Some(match (state, byte) {
            (State::Start, b'"') => State::Quoted,
            (State::Start | State::Plain, b'\r' | b'\n') => {
                self.end_field(false);
                return Ok(None);
            }
            (State::Start | State::Plain, _) if byte == delimiter => {
                self.end_field(false);
                State::Start
            }
            (State::Start | State::Plain, _) => {
                self.bytes.push(byte);
                State::Plain
            }
            (State::Quoted, b'"') => State::Quote,
            (State::Quoted, _) | (State::Quote, b'"') => {
                self.bytes.push(byte);
                State::Quoted
            }
            (State::Quote, b'\r' | b'\n') => {
                self.end_field(true);
                return Ok(None);
            }
            (State::Quote, _) if byte == delimiter => {
                self.end_field(true);
                State::Start
            }
            (State::Quote, _) => {
                return Err(format!("text after the closing quote of field {}", self.fields.len() + 1));
            }
        }))
    }

    fn end_field(&mut self, quoted: bool) {
        self.fields.push((self.bytes.len(), quoted));
    }

    fn check(&self) -> Result<(), Malformed> {
        match std::str::from_utf8(&self.bytes) {
            // A field boundary within a character cannot be: delimiters and quotes are ASCII.
            Ok(_) => Ok(()),
            Err(_) => Err(Malformed { line: self.line, message: "not valid UTF-8".into() }),
        }
    }

    /// How many fields there are.
    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    /// Bytes of text in it.
    pub(super) fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// An empty line.
    pub(super) fn is_blank(&self) -> bool {
        self.fields == [(0, false)]
    }

    /// The fields: text, and whether it was quoted.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&str, bool)> {
        let mut start = 0;
        self.fields.iter().map(move |&(end, quoted)| {
            let text = std::str::from_utf8(&self.bytes[start..end]).unwrap_or_default();
            start = end;
            (text, quoted)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    /// A line, and its fields with whether they were quoted.
    type Parsed = (u64, Vec<(String, bool)>);

    fn parse(text: &str) -> Result<Vec<Parsed>, Malformed> {
        // A buffer of three bytes, so that everything is cut somewhere.
        let mut records = Records::new(BufReader::with_capacity(3, text.as_bytes()), b',');
        let mut record = Record::default();
        let mut all = Vec::new();
        while records.read(&mut record)? {
            all.push((record.line, record.fields().map(|(t, q)| (t.to_owned(), q)).collect()));
        }
        Ok(all)
    }

    #[test]
    fn records_know_their_lines_and_quotes() {
        let plain = |t: &str| (t.to_owned(), false);
        let quoted = |t: &str| (t.to_owned(), true);
        let found = parse("a,b\r\n\"x\n\"\"y\"\"\",\"\"\r\n,é\n\n1\"2,3").unwrap();
        assert_eq!(
            found,
            [
                (1, vec![plain("a"), plain("b")]),
                (2, vec![quoted("x\n\"y\""), quoted("")]),
                (4, vec![plain(""), plain("é")]),
                (5, vec![plain("")]),
                (6, vec![plain("1\"2"), plain("3")]),
            ]
        );
        // Lines may also end in a carriage return alone.
        assert_eq!(
            parse("a,b\r\"x\ry\r\nz\",\r\r1,2\r").unwrap(),
            [
                (1, vec![plain("a"), plain("b")]),
                (2, vec![quoted("x\ry\r\nz"), plain("")]),
                (5, vec![plain("")]),
                (6, vec![plain("1"), plain("2")]),
            ]
        );
        assert_eq!(parse("").unwrap(), []);
        assert_eq!(parse("a\r\n").unwrap(), [(1, vec![plain("a")])]);
        assert_eq!(parse("a,").unwrap(), [(1, vec![plain("a"), plain("")])]);
    }

    #[test]
    fn what_is_no_csv_is_refused_with_its_line() {
        for (text, line, message) in [
            ("a\n\"b\nc", 2, "never closed"),
            ("\"a\"b", 1, "closing quote of field 1"),
            ("a\r\"b\"x", 2, "closing quote"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.line, line);
            assert!(error.message.contains(message), "{}", error.message);
        }
        let mut records = Records::new(&b"ok\n\xff\n"[..], b',');
        let mut record = Record::default();
        assert!(records.read(&mut record).unwrap());
        assert_eq!(records.read(&mut record).unwrap_err().line, 2);
    }
}
