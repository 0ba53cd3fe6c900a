"""A credential is found in the forms in which programs write it."""

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.certify.resume.scrub import Scrubber

KEY = 'sk-"quoted"/äöü+key=='
keys = st.text(st.characters(exclude_categories=["Cs"]), min_size=8, max_size=40)


@pytest.mark.requirement("certify:resume:key")
@pytest.mark.parametrize(
    "form",
    [
        KEY,
        json.dumps(KEY),
        quote(KEY, safe=""),
        base64.b64encode(KEY.encode()).decode(),
        base64.urlsafe_b64encode(KEY.encode()).decode().rstrip("="),
        KEY.encode().hex(),
    ],
)
def test_every_common_form_is_replaced_by_the_variables_name(form: str) -> None:
    shown = Scrubber("SOME_KEY", KEY)(f"401 for {form} at once")
    assert form.strip('"') not in shown
    assert "[SOME_KEY]" in shown


@given(key=keys, before=st.text(), after=st.text(), max_bytes=st.integers(0, 60))
def test_a_line_never_holds_the_key_wherever_it_is_cut(
    key: str, before: str, after: str, max_bytes: int
) -> None:
    line = Scrubber("K", key).line(f"{before}{key}{after}", max_bytes)
    assert key not in line
    assert len(line.encode()) <= max_bytes


def test_without_a_credential_text_stays_as_it_is() -> None:
    assert Scrubber("K", "")("anything") == "anything"
