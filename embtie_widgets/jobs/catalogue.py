"""Models to choose from: the bundled pair and the pairs of the papers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A model of the catalogue: its reference, a readable name, and a line about it."""

    ref: str
    label: str
    detail: str


ENTRIES = (
    Entry("nano-untied", "nano-untied", "bundled, 4,096 x 128, separate matrices"),
    Entry("nano-tied", "nano-tied", "bundled, 4,096 x 128, one tied matrix"),
    Entry("allenai/OLMo-1B-0724-hf", "OLMo 1B (July 2024)", "untied, 50,304 x 2,048"),
    Entry("allenai/OLMo-1B-hf", "OLMo 1B", "tied, 50,304 x 2,048"),
    Entry("allenai/OLMo-7B-0424-hf", "OLMo 7B (April 2024)", "untied, 50,304 x 4,096"),
    Entry("EleutherAI/pythia-70m", "Pythia 70M", "untied, 50,304 x 512"),
    Entry("EleutherAI/pythia-160m", "Pythia 160M", "untied, 50,304 x 768"),
    Entry("EleutherAI/pythia-410m", "Pythia 410M", "untied, 50,304 x 1,024"),
    Entry("EleutherAI/pythia-1b", "Pythia 1B", "untied, 50,304 x 2,048"),
    Entry("EleutherAI/pythia-2.8b", "Pythia 2.8B", "untied, 50,304 x 2,560"),
    Entry("EleutherAI/gpt-neo-2.7B", "GPT-Neo 2.7B", "tied, 50,257 x 2,560"),
    Entry("Qwen/Qwen3-4B", "Qwen3 4B", "tied, 151,936 x 2,560"),
    Entry("Qwen/Qwen3-8B", "Qwen3 8B", "untied, 151,936 x 4,096"),
    Entry("openai-community/gpt2", "GPT-2", "tied, 50,257 x 768"),
)


def search(text: str, limit: int = 50) -> list[Entry]:
    """The entries that hold every word of `text`, whatever its case; all of them for none."""
    words = text.lower().split()
    found = [
        entry
        for entry in ENTRIES
        if all(word in f"{entry.ref} {entry.label} {entry.detail}".lower() for word in words)
    ]
    return found[:limit]
