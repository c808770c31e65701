#!/usr/bin/env python3
"""Rejects includes that go against the order of the house.

Every folder of isochron/ says in its CMakeLists.txt which folders it includes from (DEPENDS of
isochron_folder). Two rules: what is included stands in DEPENDS, and what stands in DEPENDS lies
before the folder in its column. docs/architecture.md explains the columns.
"""
import argparse
import pathlib
import re
import sys

FOUNDATION = ["base", "timeline"]
ENGINE = ["tensor", "ops", "graph", "passes", "kernels", "exec", "profiler", "data", "optim", "nn", "checkpoint", "dist", "train"]
DOCTOR = ["readers", "observe", "diagnose", "report"]
# The one bridge between the columns: training explains itself with the doctor's words.
BRIDGES = {"train": {"diagnose", "report"}}

INCLUDE = re.compile(r'^\s*#\s*include\s*["<]isochron/([^/">]+)/', re.MULTILINE)
FOLDER = re.compile(r"isochron_folder\(\s*(\w+)(.*?)\)", re.DOTALL)
KEYWORDS = {"DEPENDS", "LIBRARIES", "SOURCES"}


def may_depend_on(folder):
    """The folders that lie before `folder`, or None for one that has no place in the order."""
    if folder in FOUNDATION:
        return set(FOUNDATION[: FOUNDATION.index(folder)])
    for column in (ENGINE, DOCTOR):
        if folder in column:
            return set(FOUNDATION) | set(column[: column.index(folder)]) | BRIDGES.get(folder, set())
    return None


def depends_of(cmake_text):
    """{folder: [its DEPENDS]} of one CMakeLists.txt."""
    folders = {}
    for name, arguments in FOLDER.findall(re.sub(r"#.*", "", cmake_text)):
        section, listed = None, []
        for word in arguments.split():
            if word in KEYWORDS:
                section = word
            elif section == "DEPENDS":
                listed.append(word)
        folders[name] = listed
    return folders


def problems(root):
    house = root / "isochron"
    for folder in sorted(path for path in house.iterdir() if path.is_dir()):
        name, cmake = folder.name, folder / "CMakeLists.txt"
        sources = sorted(p for p in folder.rglob("*") if p.suffix in (".h", ".cpp"))
        if not cmake.exists():
            if sources:
                yield f"isochron/{name}: has sources but no CMakeLists.txt"
            continue
        listed = depends_of(cmake.read_text()).get(name)
        if listed is None:
            yield f"isochron/{name}/CMakeLists.txt: has no isochron_folder({name} …)"
            continue
        allowed = may_depend_on(name)
        if allowed is None:
            yield f"isochron/{name}: has no place in the order of tools/check_layers.py"
            continue
        for dependency in listed:
            if dependency not in allowed:
                yield f"isochron/{name}/CMakeLists.txt: {name} must not depend on {dependency}"
        for source in sources:
            for included in sorted(set(INCLUDE.findall(source.read_text()))):
                if included != name and included not in listed:
                    place = source.relative_to(root)
                    yield f"{place}: includes isochron/{included}/, which DEPENDS of {name} does not list"


def main():
    parser = argparse.ArgumentParser(description="Checks the edges between the folders of isochron/.")
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    found = list(problems(parser.parse_args().root))
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
