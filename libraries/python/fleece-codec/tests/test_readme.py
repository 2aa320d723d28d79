import pathlib
import re


def test_the_example_of_the_readme_runs():
    readme = pathlib.Path(__file__).parent.parent / "README.md"
    examples = re.findall(r"```python\n(.*?)```", readme.read_text(), re.DOTALL)
    assert len(examples) == 1
    exec(examples[0], {})
