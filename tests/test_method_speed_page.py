from typing import Any

from dsgrl.bench.systems import SYSTEMS
from loading import load_script

SAME = {"dataset": "photo", "setup_seconds": 2.0, "peak_rss_mb": 700, "threads": 1}


def setting(method: str, **settings: Any) -> dict[str, Any]:
    system = SYSTEMS[method]
    return system.complete(system.configure(settings, "node"), "node")


def timed(method: str, **more: Any) -> dict[str, Any]:
    made = {**SAME, "method": method, "config": setting(method), "epochs_measured": 7}
    return {**made, "seconds_per_epoch": 0.5, **more}


def scored(method: str, epoch: int, **settings: Any) -> dict[str, Any]:
    config = setting(method, **settings)
    where = {"dataset": "photo", "method": method, "recipe": "default"}
    return {**where, "config": config, "epochs": epoch}


def test_page__the_kept_epoch_is_that_of_the_same_setting() -> None:
    lines = [timed("dgi"), timed("bgrl", seconds_per_epoch=0.25), timed("ggd")]
    others = [scored("dgi", 10), scored("dgi", 99, lr=0.5), scored("bgrl", 99, lr=0.5)]
    page = load_script("method_speed").render(lines, others)
    assert "| dgi | 2.0 | 0.50 | 10 | 7 | 700 |" in page
    assert "| bgrl | 2.0 | 0.25 |  |  | 700 |" in page
    assert page.index("| bgrl |") < page.index("| dgi |")
    assert "with one thread" in page


def test_page__a_number_of_epochs_is_the_kept_one() -> None:
    line = timed("dgi", config=setting("dgi", epochs=20))
    page = load_script("method_speed").render([line], [])
    assert "| dgi | 2.0 | 0.50 | 20 | 12 | 700 |" in page


def test_page__without_training_and_without_a_result() -> None:
    script = load_script("method_speed")
    untrained = {**SAME, "method": "hops", "config": setting("hops")}
    failed = {"dataset": "photo", "method": "gca", "error": "out of memory"}
    page = script.render([untrained, failed], [])
    assert "| hops | 2.0 |  |  | 2 | 700 |" in page
    assert "| gca | out of memory |  |  |  |  |" in page
    assert "gca" in script.draw(script.complete([untrained, failed], []))


def test_picture__has_every_method_and_is_the_same_again() -> None:
    script = load_script("method_speed")
    found = script.complete([timed("dgi"), timed("bgrl")], [])
    picture = script.draw(found)
    assert picture == script.draw(found)
    for text in ("dgi", "bgrl", "seconds per epoch", "Photo, one graph"):
        assert text in picture
