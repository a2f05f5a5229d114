"""README's matrix is made by `make interop-readme`, not by hand: it has today's methods and peers."""
import matrix
from kit import ROOT

STALE = "README.md's matrix is of another time: sh dist/setup.sh interop && make interop-readme"


def test_has_todays_rows():
    """It may have more: a library of another version can lack a cipher."""
    rows = matrix.readme_rows((ROOT / "README.md").read_text())
    today = [line.split() for line in matrix.picture(dict.fromkeys(matrix.every_cell(), True))]
    assert rows[:2] == today[:2], STALE
    assert [row for row in today if row not in rows] == [], STALE
