from loading import load_script


def test_tabulate__one_protocol_and_untuned_settings() -> None:
    tabulate = load_script("choices").tabulate
    same = {"suite": "nodes", "dataset": "cora", "config": {}, "scores": [], "seed": 0}
    same |= {"protocol": "public", "metric": "accuracy"}
    lines = [
        {**same, "method": "dgi", "recipe": "published", "mean": 82.0},
        {**same, "method": "hops", "recipe": "default", "mean": 81.0},
        {**same, "method": "hops", "recipe": "default", "mean": 70.0, "seed": 1},
        {**same, "method": "ggd", "recipe": "published, lr=0.01", "mean": 90.0},
        {**same, "method": "bgrl", "recipe": "default", "mean": 9.0, "metric": "f"},
        {"suite": "speed"},
    ]
    assert tabulate(lines, "public") == {"cora": {"dgi": 82.0, "hops": 81.0}}


def test_compare__counts_wins_and_leaves_controls_out() -> None:
    script = load_script("choices")
    table = {
        "cora": {"dsgrl": 83.0, "hops": 81.0, "dgi": 82.0, "random-dgi": 99.0},
        "imdb-b": {"dsgrl": 70.0, "hops": 71.0, "ggd": 60.0, "dgi": 61.0},
        "citeseer": {"dsgrl": 70.0, "random-t": 90.0},
    }
    said = script.compare_with_floor(table, "hops")
    assert "on 1 of 2 sets, by 0.5 points on average (-1.0 to +2.0)" in said
    assert script.compare_with_baselines(table, "hops") == (
        "Cora 81.0 and 82.0 (`dgi`, best of 1), IMDB-B 71.0 and 61.0 (`dgi`, best of 2)"
    )


def test_describe__walks_where_there_are_some() -> None:
    script = load_script("choices")
    table = {"dsgrl": 63.0, "hops": 62.0, "raw": 61.0}
    assert "walks" not in script.describe_types(table)
    assert "walks 52.0 (`esim`, best of 2)" in script.describe_types(
        {**table, "esim": 52.0, "herec": 50.0}
    )


def test_describe_speed__fastest_and_slowest_baseline() -> None:
    seconds = {"dsgrl": 0.4, "dgi": 1.0, "gca": 7.0, "node2vec": 99.0}
    lines = [
        {"dataset": "photo", "method": name, "seconds_per_epoch": value}
        for name, value in seconds.items()
    ]
    said = load_script("choices").describe_speed([*lines, {"dataset": "photo"}])
    assert "0.4 s for `dsgrl` and 1.0 s (`dgi`) to 7.0 s (`gca`) for baselines" in said
