//! Pure: the records of etcd's write-ahead log (WAL), as etcd 3.2 to 3.7 write them (`server/storage/wal` in etcd).
//!
//! A record is preceded by 8 bytes, the least significant one first: 56 bits with its length, and a byte that is 0, or 0x80 plus the
//! number of zeros that pad the record to a multiple of 8. It is a protobuf message of a type (1), a checksum (2) and data (3). The
//! checksum is the CRC-32C of the data of all records up to this one. A segment begins with a record that has the checksum of the
//! previous segment. After its last record, a segment has zeros.

use crc_fast::{CrcAlgorithm, Digest};

/// Types of records.
const ENTRY: u64 = 2;
const STATE: u64 = 3;
const CHECKSUM: u64 = 4;
/// The largest record: etcd reads none that is longer than a segment may become.
const LONGEST: u64 = 512 << 20;
/// The smallest unit that a disk writes completely or not at all.
const SECTOR: usize = 512;

/// The length of a record, and how many bytes pad it, from the 8 bytes that precede it. None if there is no such record.
pub(super) fn frame(header: [u8; 8]) -> Option<(usize, usize)> {
    let header = u64::from_le_bytes(header);
    let (length, padding) = (header & ((1 << 56) - 1), header >> 56);
    let padding = if padding & 0x80 == 0 { 0 } else { padding & 0x7 };
    let length = usize::try_from(length).ok().filter(|_| (1..=LONGEST).contains(&length))?;
    Some((length, usize::try_from(padding).ok()?))
}

/// Whether a record at that offset was torn by a power failure: one of the sectors that it is on has only zeros of it, as etcd decides
/// it.
pub(super) fn is_torn(offset: u64, record: &[u8]) -> bool {
    let first = SECTOR - usize::try_from(offset % SECTOR as u64).unwrap_or(0);
    let (head, rest) = record.split_at(first.min(record.len()));
    std::iter::once(head).chain(rest.chunks(SECTOR)).any(|sector| sector.iter().all(|byte| *byte == 0))
}

/// What a member has voted for and knows to be committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HardState {
    pub(super) term: u64,
    pub(super) vote: u64,
    pub(super) commit: u64,
}

/// What the records up to some point say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LogRead {
    /// The checksum of the last record.
    pub(super) checksum: u32,
    /// The last hard state.
    pub(super) state: Option<HardState>,
    /// The index of the last entry. A later entry with a lower index replaces all from that index on.
    pub(super) last: Option<u64>,
}

impl LogRead {
    /// Reads another record. None if it is not one, or not intact.
    pub(super) fn with(self, record: &[u8]) -> Option<Self> {
        let fields = Fields::read(record)?;
        let written = u32::try_from(fields.number(2)).ok()?;
        if fields.number(1) == CHECKSUM {
            // The first one of a segment is what this begins with.
            return (self.checksum == 0 || self.checksum == written).then_some(Self { checksum: written, ..self });
        }
        let data = fields.bytes(3);
        if checksum_after(self.checksum, data) != written {
            return None;
        }
        let read = Self { checksum: written, ..self };
        match fields.number(1) {
            ENTRY => Some(Self { last: Some(Fields::read(data)?.number(3)), ..read }),
            STATE => {
                let state = Fields::read(data)?;
                let [term, vote, commit] = [1, 2, 3].map(|field| state.number(field));
                Some(Self { state: Some(HardState { term, vote, commit }), ..read })
            }
            _ => Some(read),
        }
    }

    /// The bytes to append, by which the hard state becomes `state`.
    pub(super) fn append(self, state: HardState) -> Vec<u8> {
        let mut data = Vec::new();
        for (field, value) in [(1, state.term), (2, state.vote), (3, state.commit)] {
            put_number(&mut data, field, value);
        }
        framed(STATE, checksum_after(self.checksum, &data), &data)
    }
}

/// A record, with the bytes that precede and pad it.
fn framed(type_: u64, checksum: u32, data: &[u8]) -> Vec<u8> {
    let mut record = Vec::new();
    put_number(&mut record, 1, type_);
    put_number(&mut record, 2, checksum.into());
    // Field 3, of which the length follows.
    record.push(3 << 3 | 2);
    put_varint(&mut record, data.len() as u64);
    record.extend(data);
    let padding = record.len().next_multiple_of(8) - record.len();
    let flag = if padding == 0 { 0 } else { (0x80 | padding as u64) << 56 };
    let mut bytes = (record.len() as u64 | flag).to_le_bytes().to_vec();
    bytes.extend(record);
    bytes.resize(bytes.len() + padding, 0);
    bytes
}

/// The checksum after more data.
fn checksum_after(before: u32, data: &[u8]) -> u32 {
    let mut digest = Digest::new_with_init_state(CrcAlgorithm::Crc32Iscsi, (before ^ u32::MAX).into());
    digest.update(data);
    // It has 32 bits.
    u32::try_from(digest.finalize()).unwrap_or_default()
}

/// The fields of a protobuf message that has only numbers and bytes.
#[derive(Debug, Default)]
struct Fields<'a> {
    numbers: [u64; 4],
    bytes: [&'a [u8]; 5],
}

impl<'a> Fields<'a> {
    fn read(mut message: &'a [u8]) -> Option<Self> {
        let mut fields = Self::default();
        while !message.is_empty() {
            let key = varint(&mut message)?;
            let field = usize::try_from(key >> 3).ok()?;
            match key & 7 {
                0 => *fields.numbers.get_mut(field)? = varint(&mut message)?,
                2 => {
                    let length = usize::try_from(varint(&mut message)?).ok()?;
                    let (bytes, rest) = message.split_at_checked(length)?;
                    *fields.bytes.get_mut(field)? = bytes;
                    message = rest;
                }
                _ => return None,
            }
        }
        Some(fields)
    }

    fn number(&self, field: usize) -> u64 {
        self.numbers[field]
    }

    fn bytes(&self, field: usize) -> &'a [u8] {
        self.bytes[field]
    }
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn put_number(to: &mut Vec<u8>, field: u8, value: u64) {
    to.push(field << 3);
    put_varint(to, value);
}

fn put_varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// An entry with that index, for tests.
#[cfg(test)]
pub(super) fn entry(before: u32, index: u64) -> Vec<u8> {
    let mut data = Vec::new();
    [(1, 0), (2, 2), (3, index)].into_iter().for_each(|(field, value)| put_number(&mut data, field, value));
    framed(ENTRY, checksum_after(before, &data), &data)
}

/// The first record of a segment, for tests.
#[cfg(test)]
pub(super) fn first(checksum: u32) -> Vec<u8> {
    framed(CHECKSUM, checksum, &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_goes_on_from_record_to_record() {
        assert_eq!(checksum_after(0, b"123456789"), 0xe306_9283);
        assert_eq!(checksum_after(checksum_after(0, b"1234"), b"56789"), 0xe306_9283);
        assert_eq!(checksum_after(7, b""), 7);
    }

    #[test]
    fn what_is_appended_is_read() {
        let before = LogRead { checksum: 0x1234_5678, state: None, last: Some(300) };
        let state = HardState { term: 3, vote: u64::MAX, commit: 300 };
        let bytes = before.append(state);
        assert_eq!(bytes.len() % 8, 0);
        let (length, padding) = frame(bytes[..8].try_into().unwrap()).unwrap();
        assert_eq!(bytes.len(), 8 + length + padding);
        let after = before.with(&bytes[8..8 + length]).unwrap();
        assert_eq!((after.state, after.last), (Some(state), Some(300)));
        assert_eq!(LogRead { checksum: 1, ..before }.with(&bytes[8..8 + length]), None, "of another log");
        assert_eq!(before.with(&bytes[8..7 + length]), None, "torn");
    }

    #[test]
    fn a_record_is_torn_if_one_of_its_sectors_was_not_written() {
        let mut record = vec![1; 1000];
        assert!(!is_torn(500, &record));
        record[12..524].fill(0);
        assert!(is_torn(500, &record), "the second of three sectors");
        assert!(!is_torn(501, &record), "a part of each");
    }

    #[test]
    fn zeros_are_no_record() {
        assert_eq!(frame([0; 8]), None);
        assert_eq!(frame([0xff; 8]), None);
        assert_eq!(frame([5, 0, 0, 0, 0, 0, 0, 0x83]), Some((5, 3)));
        assert_eq!(frame([8, 0, 0, 0, 0, 0, 0, 0]), Some((8, 0)));
    }
}
