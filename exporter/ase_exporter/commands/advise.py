"""`ase-exporter advise`: watches a server and prints what eases what is wrong with it."""

from pathlib import Path

from ase_exporter import logs
from ase_exporter.advise.advice import advise as weigh
from ase_exporter.advise.view import advice_view
from ase_exporter.commands.options import choose_target, end_if_stuck, load_config
from ase_exporter.commands.progress import progress_bar
from ase_exporter.top.feed import gather
from ase_exporter.views.terminal import print_view


def advise(
    config_file: Path | None = None,
    target: str | None = None,
    user: str | None = None,
    password: bool = False,
    seconds: float = 30.0,
) -> None:
    end_if_stuck()
    loaded, chosen = choose_target(load_config(config_file), target, user, password)
    # An error is told once, at the end.
    logs.configure("text", "error")
    with progress_bar() as bar:
        bar.add_task(f"Watching {chosen.name} for {seconds:g} s", total=None)
        evidence = gather(loaded, chosen, seconds)
    print_view(advice_view(weigh(evidence)))
