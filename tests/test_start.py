"""Starting: what `import skmil` and the shortest commands load, and that their help is the real one."""

import subprocess
import sys

import pytest

import skmil
from skmil.cli import VERBS, _short_app, main, run_app

HEAVY = ("sklearn", "scipy", "numba")


def loaded(program):
    """Which of the heavy packages a fresh process has loaded after a program."""
    code = f"import sys\n{program}\nprint([m for m in {HEAVY!r} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.splitlines()[-1]


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_short_commands_load_nothing_heavy(argument):
    assert loaded(f"from skmil.cli import main\nassert main([{argument!r}]) == 0") == "[]"


def test_import_loads_nothing_until_it_is_asked():
    assert loaded("import skmil\nskmil.__version__") == "[]"
    assert "sklearn" in loaded("import skmil\nskmil.Bags")


def test_every_public_name_is_there():
    for name in skmil.__all__:
        assert getattr(skmil, name) is not None
        assert name in dir(skmil)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = skmil.nothing


def test_short_help_is_that_of_the_whole_application(capsys):
    from skmil.cli.verbs import app

    run_app(_short_app(), ["--help"], "skmil")
    short = capsys.readouterr().out
    run_app(app, ["--help"], "skmil")
    assert capsys.readouterr().out == short, "put the first sentence of each verb into skmil.cli.VERBS"
    assert set(VERBS) <= set(short.split())


def test_warm_compiles_every_method(capsys, monkeypatch):
    from skmil.cli import warm
    from skmil.registry import REGISTRY

    few = {k: REGISTRY[k] for k in ("Simple-MI", "ISK")}
    monkeypatch.setattr(warm, "REGISTRY", few)
    assert main(["warm"]) == 0
    assert "compiled 2 of 2: ISK" in capsys.readouterr().err
