"""DuckLakes to test on: one whose catalog is ours, and one of another implementation beside it."""

import dataclasses
import os
import pathlib
import re
import sysconfig

import duckdb

EXTENSIONS = ("httpfs", "sqlite_scanner", "ducklake")


def extension_file(name):
    """The file of one of DuckDB's own extensions, from its wheel."""
    packages = pathlib.Path(sysconfig.get_paths()["purelib"])
    found = list(packages.glob(f"duckdb_extension_{name}/extensions/*/{name}.duckdb_extension"))
    if len(found) != 1:
        raise FileNotFoundError(f"one file of the extension {name} in {packages}, not {found}")
    return found[0]


def connect(database=":memory:"):
    """A new DuckDB with all extensions, which attaches nothing yet."""
    connection = duckdb.connect(database, config={"allow_unsigned_extensions": "true"})
    for name in EXTENSIONS:
        connection.execute(f"LOAD '{extension_file(name)}'")
    connection.execute(f"LOAD '{os.environ['LAKELOCK_EXTENSION']}'")
    return connection


@dataclasses.dataclass
class Lake:
    """A DuckLake in a folder: its catalog, of one of several kinds, and its data files."""

    kind: str
    folder: pathlib.Path

    @property
    def catalog(self):
        """What stands behind `ducklake:` in ATTACH."""
        return {
            "lakelock": f"lakelock:{self.folder}/catalog",
            "duckdb": f"{self.folder}/catalog.duckdb",
            "sqlite": f"sqlite:{self.folder}/catalog.sqlite",
        }[self.kind]

    @property
    def data_path(self):
        return f"{self.folder}/data/"

    def fill_in(self, sql):
        """The statement for this lake."""
        return (
            sql.replace("${CATALOG}", self.catalog)
            .replace("${DATA_PATH}", self.data_path)
            .replace("${FOLDER}", str(self.folder))
        )

    def hide_paths(self, text):
        """A message without what differs from lake to lake and from run to run."""
        text = text.replace(self.catalog, "CATALOG").replace(str(self.folder), "FOLDER")
        return re.sub(r"ducklake-[0-9a-f-]{36}", "ducklake-UUID", text)
