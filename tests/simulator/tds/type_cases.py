"""A value of every type: as T-SQL writes it, and as a client gets it."""

from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal

from ase_simulator.results import Type

LONG_TEXT = "a text of some length, " * 8
BYTES = bytes(range(64))


@dataclass(frozen=True)
class TypeCase:
    """A value of one type: as T-SQL writes it, and as Python has it."""

    type: Type
    literal: str
    value: object

    @property
    def sql_type(self) -> str:
        kind = self.type
        if kind.precision:
            return f"{kind.name}({kind.precision},{kind.scale})"
        return f"{kind.name}({kind.length})" if kind.length else kind.name

    @property
    def padded(self) -> object:
        """The value as a client gets it: that of a fixed length is filled up."""
        fixed = self.type.name in ("char", "unichar")
        return str(self.value).ljust(self.type.length) if fixed else self.value


TYPES = [
    TypeCase(Type("bit"), "1", True),
    TypeCase(Type("tinyint"), "255", 255),
    TypeCase(Type("smallint"), "-32768", -32768),
    TypeCase(Type("int"), "2147483647", 2147483647),
    TypeCase(Type("bigint"), "-9223372036854775807", -9223372036854775807),
    TypeCase(Type("unsigned smallint"), "65535", 65535),
    TypeCase(Type("unsigned int"), "2147483647", 2147483647),
    TypeCase(Type("unsigned bigint"), "18446744073709551615", 18446744073709551615),
    TypeCase(Type("real"), "1.5", 1.5),
    TypeCase(Type("float"), "-2.5e10", -2.5e10),
    TypeCase(
        Type("numeric", precision=38, scale=10),
        "-1234567890123456789012345678.0123456789",
        Decimal("-1234567890123456789012345678.0123456789"),
    ),
    TypeCase(Type("decimal", precision=5, scale=2), "123.45", Decimal("123.45")),
    TypeCase(Type("numeric", precision=12, scale=2), "-1234567890.12", Decimal("-1234567890.12")),
    TypeCase(Type("unsigned bigint"), "9223372036854775807", 9223372036854775807),
    TypeCase(Type("money"), "-1234567.8901", Decimal("-1234567.8901")),
    TypeCase(Type("money"), "-922337203685477.5807", Decimal("-922337203685477.5807")),
    TypeCase(Type("smallmoney"), "214748.3647", Decimal("214748.3647")),
    TypeCase(Type("datetime"), "'Feb 29 2024 23:59:59.990'", datetime(2024, 2, 29, 23, 59, 59, 990000)),
    TypeCase(Type("smalldatetime"), "'Jun 6 2079 23:59'", datetime(2079, 6, 6, 23, 59)),
    TypeCase(Type("date"), "'Feb 29 2024'", date(2024, 2, 29)),
    TypeCase(Type("time"), "'23:59:59'", time(23, 59, 59)),
    TypeCase(Type("bigdatetime"), "'Feb 29 2024 12:34:56.789012'", datetime(2024, 2, 29, 12, 34, 56, 789012)),
    TypeCase(Type("bigtime"), "'12:34:56.789012'", time(12, 34, 56, 789012)),
    TypeCase(Type("char", 5), "'abc'", "abc"),
    TypeCase(Type("varchar", 30), "'Spinlöcke'", "Spinlöcke"),
    TypeCase(Type("varchar", 300), f"'{'y' * 280}'", "y" * 280),
    TypeCase(Type("nvarchar", 30), "'naïve'", "naïve"),
    TypeCase(Type("unichar", 4), "'abc'", "abc"),
    TypeCase(Type("univarchar", 30), "'Straße'", "Straße"),
    TypeCase(Type("binary", 4), "0x00010200", b"\x00\x01\x02\x00"),
    TypeCase(Type("varbinary", 16), "0xdeadbeef", b"\xde\xad\xbe\xef"),
    TypeCase(Type("text"), f"'{LONG_TEXT}'", LONG_TEXT),
    TypeCase(Type("unitext"), "'Unicode text'", "Unicode text"),
    TypeCase(Type("image"), f"0x{BYTES.hex()}", BYTES),
]
