"""The results of comparisons for people: tables for the terminal and in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

TITLES: Final = {"headers": "Headers", "pixels": "Pixels", "gpu": "Pixels to the GPU"}
COLUMNS: Final = ("reader", "median", "quartiles", "ratio", "CPU time", "rate", "memory", "")


def seconds_text(seconds: float) -> str:
    """``0.00012`` as ``0.120 ms``, ``1.234`` as ``1.23 s``."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    milliseconds = seconds * 1000
    return f"{milliseconds:.0f} ms" if milliseconds >= 100 else f"{milliseconds:.{3 if milliseconds < 1 else 1}f} ms"


def rows(part: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """The rows of the table of one kind, by :data:`COLUMNS`."""
    size = part["output_bytes"]
    for reader in part["readers"]:
        label = f"{reader['label']} ({reader['scope']})" if reader["scope"] else reader["label"]
        if reader["device"] != "cpu":
            label += f" [{reader['device']}{', uploaded' if reader['uploads'] else ''}]"
        beyond = reader.get("memory_beyond_output_bytes")
        memory = "" if beyond is None else f"+{beyond / 2**20:.0f} MiB"
        if reader["status"] != "timed":
            yield (label, "", "", "", "", "", memory, f"{reader['status']}: {reader['reason']}")
            continue
        first, third = reader["quartiles_seconds"]
        ratio = reader["ratio"]
        yield (
            label,
            seconds_text(reader["median_seconds"]),
            f"{seconds_text(first)} to {seconds_text(third)}",
            "" if ratio is None else f"{ratio:.2f}x{' (baseline)' if reader['baseline'] else ''}",
            seconds_text(reader["median_cpu_seconds"]),
            f"{size / reader['median_seconds'] / 1e9:.2f} GB/s" if size else "",
            memory,
            "",
        )


def title(file: dict[str, Any], kind: str) -> str:
    """What a table is about, on one line."""
    facts = file["file"]
    image = f"{facts['width']}x{facts['height']}x{facts['bands']}, {facts['tiles']} tiles"
    part = f", window {','.join(map(str, facts['window']))}" if facts["window"] and kind != "headers" else ""
    return f"{TITLES[kind]}: {facts['name']}, IFD {facts['ifd']}, {image}{part}"


def table(file: dict[str, Any], kind: str) -> Table:
    """The table of one kind for the terminal."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(title=Text(title(file, kind)), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    every, shown = _shown(file[kind])
    for at in shown:
        made.add_column(COLUMNS[at], justify="left" if at in {0, len(COLUMNS) - 1} else "right", overflow="fold")
    for row, reader in zip(every, file[kind]["readers"], strict=True):
        style = "bold" if reader["ours"] else "" if reader["status"] == "timed" else "dim"
        made.add_row(*[Text(row[at]) for at in shown], style=style)
    return made


def _shown(part: dict[str, Any]) -> tuple[list[tuple[str, ...]], list[int]]:
    """The rows of a table, and which columns have anything in them."""
    every = list(rows(part))
    return every, [at for at in range(len(COLUMNS)) if any(row[at] for row in every)]


def markdown(results: dict[str, Any]) -> str:
    """All tables in Markdown, and the machine."""
    machine = results["machine"]
    memory = machine["memory bytes"]
    lines = [
        f"{machine['cpu']}, {machine['cores available']} cores, {memory / 2**30:.0f} GiB, " if memory else "",
        f"{machine['distribution'] or machine['system']}, {machine['python']}; {results['date'][:10]}; ",
        f"load {machine['load'][0]} before, {machine['load'][1]} after.\n",
    ]
    text = "".join(lines)
    for file in results["files"]:
        for kind in TITLES:
            if kind in file:
                every, shown = _shown(file[kind])
                names = [COLUMNS[at] or "note" for at in shown]
                rules = ["---" if at in {0, len(COLUMNS) - 1} else "---:" for at in shown]
                text += f"\n### {title(file, kind)}\n\n| {' | '.join(names)} |\n| {' | '.join(rules)} |\n"
                for row in every:
                    cells = [row[at].replace("|", "\\|").replace("\n", " ") for at in shown]
                    text += f"| {' | '.join(cells)} |\n"
    return text
