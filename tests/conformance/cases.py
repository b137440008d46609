"""The conformance list: T-SQL that any ASE answers, what it answers, and how clients may write the values."""

import re
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal

from ase_simulator.results import Type

LONG_TEXT = "a text of some length, " * 8
BYTES = bytes(range(64))


@dataclass(frozen=True)
class TypeCase:
    """A value of one type: as T-SQL writes it, as Python has it, and as clients may show it (a pattern)."""

    type: Type
    literal: str
    value: object
    shown: str

    @property
    def sql_type(self) -> str:
        kind = self.type
        if kind.precision:
            return f"{kind.name}({kind.precision},{kind.scale})"
        return f"{kind.name}({kind.length})" if kind.length else kind.name


def _of(kind: Type, literal: str, value: object, shown: str = "") -> TypeCase:
    return TypeCase(kind, literal, value, shown or re.escape(str(value)))


TYPES = [
    _of(Type("bit"), "1", True, "1|[Tt]rue"),
    _of(Type("tinyint"), "255", 255),
    _of(Type("smallint"), "-32768", -32768),
    _of(Type("int"), "2147483647", 2147483647),
    _of(Type("bigint"), "-9223372036854775807", -9223372036854775807),
    _of(Type("unsigned smallint"), "65535", 65535),
    _of(Type("unsigned int"), "2147483647", 2147483647),
    _of(Type("unsigned bigint"), "18446744073709551615", 18446744073709551615),
    _of(Type("real"), "1.5", 1.5, r"1\.50*"),
    _of(Type("float"), "-2.5e10", -2.5e10, r"-2\.50*[eE]\+?10|-25000000000(\.0*)?"),
    _of(
        Type("numeric", precision=38, scale=10),
        "-1234567890123456789012345678.0123456789",
        Decimal("-1234567890123456789012345678.0123456789"),
    ),
    _of(Type("decimal", precision=5, scale=2), "123.45", Decimal("123.45")),
    _of(Type("numeric", precision=12, scale=2), "-1234567890.12", Decimal("-1234567890.12")),
    _of(Type("unsigned bigint"), "9223372036854775807", 9223372036854775807),
    _of(Type("money"), "-1234567.8901", Decimal("-1234567.8901")),
    _of(Type("money"), "-922337203685477.5807", Decimal("-922337203685477.5807")),
    _of(Type("smallmoney"), "214748.3647", Decimal("214748.3647")),
    _of(
        Type("datetime"),
        "'Feb 29 2024 23:59:59.990'",
        datetime(2024, 2, 29, 23, 59, 59, 990000),
        r"2024-02-29 23:59:59\.990*|Feb 29 2024 11:59(:59:990)?PM",
    ),
    _of(
        Type("smalldatetime"),
        "'Jun 6 2079 23:59'",
        datetime(2079, 6, 6, 23, 59),
        r"2079-06-06 23:59:00(\.0*)?|Jun  6 2079 11:59(:00:000)?PM",
    ),
    _of(Type("date"), "'Feb 29 2024'", date(2024, 2, 29), r"2024-02-29( 00:00:00)?|Feb 29 2024.*"),
    _of(Type("time"), "'23:59:59'", time(23, 59, 59), r".*(23:59:59(\.0*)?|11:59(:59:000)?PM)"),
    _of(
        Type("bigdatetime"),
        "'Feb 29 2024 12:34:56.789012'",
        datetime(2024, 2, 29, 12, 34, 56, 789012),
        r"2024-02-29 12:34:56\.(789012|790*)|Feb 29 2024 12:34(:56[.:]789(012)?)?PM",
    ),
    _of(
        Type("bigtime"),
        "'12:34:56.789012'",
        time(12, 34, 56, 789012),
        r".*(12:34:56(\.789012)?|12:34(:56[.:]789(012)?)?PM)",
    ),
    _of(Type("char", 5), "'abc'", "abc", "abc *"),
    _of(Type("varchar", 30), "'Spinlöcke'", "Spinlöcke"),
    _of(Type("varchar", 300), f"'{'y' * 280}'", "y" * 280),
    _of(Type("nvarchar", 30), "'naïve'", "naïve"),
    _of(Type("unichar", 4), "'abc'", "abc", "abc *"),
    _of(Type("univarchar", 30), "'Straße'", "Straße"),
    _of(Type("binary", 4), "0x00010200", b"\x00\x01\x02\x00", "(0x)?00010200"),
    _of(Type("varbinary", 16), "0xdeadbeef", b"\xde\xad\xbe\xef", "(0x)?(deadbeef|DEADBEEF)"),
    _of(Type("text"), f"'{LONG_TEXT}'", LONG_TEXT, LONG_TEXT.strip() + " *"),
    _of(Type("unitext"), "'Unicode text'", "Unicode text"),
    _of(Type("image"), f"0x{BYTES.hex()}", BYTES, f"(?i:(0x)?{BYTES.hex()})"),
]


def select_values(cases: list[TypeCase]) -> str:
    return "select " + ", ".join(f"convert({c.sql_type}, {c.literal}) c{n}" for n, c in enumerate(cases))


def select_nulls(cases: list[TypeCase]) -> str:
    return "select " + ", ".join(f"convert({c.sql_type}, null) c{n}" for n, c in enumerate(cases))


MISSING_TABLE = "select * from no_such_table"
SEVERAL_SETS = (
    "select 1 n, 'one' word print 'in between' select 2 n, 'two' word where 1 = 2 "
    "select 3 n, 'three' word union all select 4, 'four'"
)
COUNTED = (
    "create table #counted (n int) insert into #counted values (1) "
    "insert into #counted select n + 1 from #counted update #counted set n = n + 5 "
    "select n from #counted order by n"
)
HANG = "waitfor delay '00:10:00'"
# Large enough to fill hundreds of packets.
_PAIRS = "master..monTables a, master..monTableColumns b where a.TableID < 12"
BIG = f"select a.TableID, b.ColumnName from {_PAIRS}"
BIG_COUNT = f"select count(*) n from {_PAIRS}"
