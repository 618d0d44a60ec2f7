import re
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from django import forms

from config.backoffice.html import error_in_words
from config.core.errors import ApiError
from config.core.names import shows_nothing


class ReasonField(forms.CharField):
    widget = forms.Textarea

    def validate(self, value: str) -> None:
        super().validate(value)
        if value and shows_nothing(value):
            raise forms.ValidationError("Must contain a visible character.")


class TemplateSelect(forms.Select):
    """A list of reply templates, with a button that inserts the chosen text into the form's `field`.

    Without JavaScript, the button sends the form as a preview.
    """

    template_name = "backoffice/template_select.html"

    def __init__(self, field: str, texts: Mapping[str, str]) -> None:
        super().__init__({"data-inserts": field})
        # Browsers send line breaks as CRLF.
        self.field, self.texts = field, {pk: text.replace("\r\n", "\n") for pk, text in texts.items()}

    def create_option(self, name: str, value: Any, *args: Any, **options: Any) -> dict[str, Any]:
        option: dict[str, Any] = super().create_option(name, value, *args, **options)
        option["attrs"]["data-text"] = self.texts.get(str(value), "")
        return option


class SeenForm(forms.Form):
    """A confirmation form.

    The hidden field `seen` contains the record's state at the time when the page was rendered.
    """

    inserted = False  # True if the form's data contains texts that the page has not displayed

    seen = forms.CharField(widget=forms.HiddenInput)
    fieldset: ClassVar[Any] = ("", ())  # title and fields of the last group of the page

    @property
    def sections(self) -> list[tuple[str, Any]]:
        """Return the titles and visible fields of the form's sections. A section without a title has no frame."""
        return [("", [field for field in self.visible_fields() if field not in self.fieldset[1]])]

    @property
    def fieldset_sections(self) -> list[tuple[str, Any]]:
        return [("", self.fieldset[1])]

    @property
    def opens_fieldset(self) -> bool:
        """Check whether the group `fieldset` must be open, because a field is invalid."""
        return any(field.errors for field in self.fieldset[1])

    def field_of(self, path: str) -> str:
        """Return the form field for a field name or path of the API."""
        return re.split(r"[./]", path)[-1]

    def set_errors(self, error: ApiError | forms.ValidationError) -> None:
        """Set an action's error on the invalid fields, otherwise on the form."""
        if isinstance(error, forms.ValidationError):
            self.add_error(None, error)
            return
        for field, message in self.errors_of(error):
            self.add_error(field or None, message)

    def errors_of(self, error: ApiError) -> list[tuple[str, str]]:
        """Return the messages of an error with their fields. A message about the form has the field "".

        Names of the API are replaced by field labels, or by words.
        """
        details = error.details if isinstance(error.details, list) else []
        errors = [(self.field_of(str(row.get("field"))), str(row.get("message"))) for row in details]
        if not errors or any(field not in self.fields for field, _ in errors):
            errors = [("", str(error))]
        return [(field, error_in_words(re.sub(r"`([a-z_]+)`", self._label_of, message))) for field, message in errors]

    def _label_of(self, name: re.Match[str]) -> str:
        field = self.fields.get(self.field_of(name[1]))
        return name[0] if field is None else f"“{field.label}”"

    def focus(self) -> None:
        """Mark the field that the script focuses: the first invalid field, or the first field if all are valid.

        On a phone, the script focuses only invalid fields, because a focus opens the keyboard.
        """
        sections = [*self.sections, *self.fieldset_sections]
        fields = [field for _title, fields in sections for field in fields]
        for field in [field for field in fields if field.errors][:1] or fields[:1]:
            field.field.widget.attrs["data-first"] = True


class ExplainedForm(SeenForm):
    """A confirmation that requires a reason to access or change another user's account."""

    reason = ReasonField(
        max_length=1_000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Stored with your name in the audit log. For example, the number of the user's request.",
    )


class TransitionForm(SeenForm):
    """A form with the reason for a status change.

    A subclass can add fields, and return their values from `metadata`.
    """

    reason = ReasonField(
        max_length=10_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Stored with the transition, and visible to readers of the record. You can't change it later.",
    )

    def __init__(
        self, *args: Any, to: str, reason_required: Collection[str] = (), sides: Collection[str] = (), **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.sides = sides  # the organizations that wrote the offered reply templates (`consoles.sides_of`)
        self.to = to
        self.fields["reason"].required = to in reason_required

    def reason_given(self) -> str | None:
        return self.cleaned_data["reason"] or None

    def metadata(self) -> Any:
        return None
