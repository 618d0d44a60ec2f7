"""Test that the product uses only documented names of its dependencies, so that upgrades don't break it."""

import ast
import importlib
import sys
from collections.abc import Iterator

from tests.product import PACKAGES, sources

# Names with an underscore that are documented.
DOCUMENTED_ATTRIBUTES = {
    "_meta": "Django's Model _meta API",
    "_default_manager": "Django's managers: what code that is given any model must use",
    "_state": "Django's model instance reference: `adding` and `db`",
}
# Documented methods of dependencies that our classes override, by defining class.
DOCUMENTED_METHODS = {
    "AbstractBaseUser": "check_password set_password",
    # Django documents this name with the choices of model fields, "Iterating relationship choices".
    "ChoiceWidget": "create_option",
    # Django OAuth Toolkit documents this name on its page about extending the application model.
    "AbstractApplication": "redirect_uri_allowed",
    "AdminConfig": "ready",
    "AdminSite": "each_context get_urls has_permission register",
    "APIView": "dispatch get_exception_handler get_permissions initial options",
    "AppConfig": "ready",
    "Argon2PasswordHasher": "encode verify",
    "AuthenticationMiddleware": "process_request",
    "AutoSchema": "get_auth get_description get_extensions get_operation_id get_override_parameters "
    "get_request_serializer get_response_serializers get_summary get_tags map_parsers",
    "BaseApplication": "load load_config",  # The guide of gunicorn to custom applications documents these methods.
    "BaseAuthentication": "authenticate authenticate_header",
    "BaseEmailBackend": "send_messages",
    "BaseUserManager": "get_by_natural_key normalize_email",
    "AuthorizationView": "form_valid get_initial",  # Django documents these methods of `FormView`.
    "BaseAuthorizationView": "dispatch",
    "BaseCommand": "add_arguments execute handle",
    "BaseForm": "clean",
    "_BaseAddWebAuthnForm": "clean",  # Django documents these methods of forms for `BaseForm`.
    "BaseJsonFormatter": "format formatException",  # Python documents these methods of `logging.Formatter`.
    "BaseManager": "get_queryset",
    "BaseModelForm": "clean save",
    "BaseModelAdmin": "formfield_for_manytomany get_fields get_fieldsets get_ordering get_queryset get_readonly_fields "
    "get_sortable_by has_add_permission has_change_permission has_delete_permission has_view_permission "
    "lookup_allowed",
    "BasePagination": "get_paginated_response paginate_queryset",
    "BaseParser": "parse",
    "FileSystemStorage": "get_modified_time",
    "FileUploadHandler": "file_complete new_file receive_data_chunk upload_interrupted",
    "MultiPartParser": "parse",
    "BasePermission": "has_permission",
    "BaseRenderer": "render",
    "BaseScopes": "get_all_scopes get_available_scopes get_default_scopes",
    "BaseThrottle": "allow_request",
    "BooleanField": "to_internal_value",
    "CharField": "to_internal_value",
    "UUIDField": "to_internal_value",
    "UserPassesTestMixin": "test_func",
    "ViewSetMixin": "initialize_request",  # The REST framework's page on views documents this dispatch method.
    "AccessMixin": "handle_no_permission",
    "ChoiceField": "to_internal_value",
    "DictField": "to_internal_value",
    "Collector": "collect",
    "Command": "handle",
    "AddConstraintNotValid": "database_forwards",
    "AddIndexConcurrently": "database_backwards database_forwards",
    "Operation": "database_backwards database_forwards describe state_forwards",
    "DateTimeField": "to_internal_value",
    "ConfirmEmailView": "get_context_data post",
    "ContextMixin": "get_context_data",
    "DecimalField": "to_python",  # Django documents these methods of forms.
    "DefaultAccountAdapter": "add_message authenticate clean_email confirm_email generate_unique_username "
    "get_client_ip get_email_verification_redirect_url get_login_stages get_signup_redirect_url is_open_for_signup "
    "is_reauthentication_required post_login reauthenticate save_user send_mail send_notification_mail",
    "DefaultContentNegotiation": "select_renderer",
    "DefaultMFAAdapter": "decrypt encrypt get_public_key_credential_rp_entity",
    "Field": "clean get_db_prep_save pre_save validate value_to_string",  # Django documents `clean` of form fields.
    "FloatField": "to_internal_value",
    "FormMixin": "form_invalid form_valid get_context_data get_form_kwargs get_initial",
    "GenericAPIView": "filter_queryset",
    "EmailVerificationSentView": "get_context_data",
    "HTTPAdapter": "init_poolmanager",
    "HTTPConnection": "connect",  # http.client documents it; urllib3 documents `ConnectionCls`
    "HTTPSConnection": "connect",
    "InlineModelAdmin": "has_add_permission has_change_permission has_delete_permission has_view_permission",
    "IntegerField": "to_internal_value",
    "JSONField": "to_internal_value",
    "ListField": "to_internal_value",
    "ListFilter": "queryset",
    "ListUserSessionsView": "form_valid get_context_data",
    "MinimumLengthValidator": "validate",
    "Model": "save",
    "ModelAdmin": "add_view change_view changelist_view get_actions get_changelist get_form get_list_display "
    "get_list_filter get_search_results get_urls response_add save_model",
    "MultipleObjectMixin": "get_context_data get_queryset",
    # oauthlib's RequestValidator documents them.
    "OAuth2Validator": "confirm_redirect_uri get_code_challenge get_code_challenge_method get_original_scopes "
    "invalidate_authorization_code is_pkce_required revoke_token save_authorization_code save_bearer_token "
    "validate_client_id validate_code "
    "validate_refresh_token validate_scopes",
    # The toolkit's page about its mixins lists their methods.
    "OAuthLibMixin": "create_authorization_response validate_authorization_request",
    "Paginator": "count",
    "PasswordResetFromKeyDoneView": "get_context_data",
    "RegisterLookupMixin": "get_lookup",
    "RunPython": "deconstruct describe",
    "ModelSerializer": "build_property_field build_standard_field get_fields",
    "Serializer": "to_internal_value to_representation validate",
    "SimpleListFilter": "lookups",
    "TextField": "get_prep_value to_python",
    "UserAdmin": "get_fieldsets",
    "Value": "as_sql resolve_expression",
    "View": "dispatch",
    "SQLiteNumericMixin": "as_sqlite",  # `as_vendor` of expressions
}
# These names have no underscore and are undocumented; each has the reason why it is needed.
EXCEPTIONS = {
    "Field.prepare_value": "Django localizes initial values by the locale alone, and not by the offer's currency",
    "BaseSignupForm.validate_unique_email": "a known address costs the same statements as an unknown one",
    "AdminSite.admin_view": "the one place that every page of the admin passes: refusals get a page with a way back",
    "AdminSite.get_app_list": "the pages of all records and of an app name a list as the list's own page does",
    "AdminSite.index": "the cards of the first page; `each_context` would count the queues for every page",
    "AdminSite.login": "leads on to the second factor; the documented `login_form` cannot send anybody elsewhere",
    "AuthorizationView.get": "takes parameters out by which a client would spare itself the question",
    "BaseAuthorizationView.error_response": "only this has the redirect URI of an error, which `redirect` needs",
    "BaseAuthorizationView.redirect": "RFC 9207 wants `iss` in every redirect, and only this sees them all",
    "SignupForm.try_save": "an address that is known costs as much as one that is not",
    "ResetPasswordForm.clean_email": "a form that looks up no address takes the same time for each",
    "ResetPasswordForm.save": "the mail worker looks up the address",
    "ChangePasswordForm.clean_oldpassword": "the old password is guessed at within the limits of a log-in",
    "PasswordResetFromKeyView.form_valid": "the browser is marked as known once the password is reset",
    "ActivateTOTPForm.clean_code": "the code that adds an app is spent",
    "ConfirmEmailView.respond": "the log-in page fills in the confirmed address",
    "ConfirmEmailView.logout_other_user": "an opened link must not log out; only the button does",
    "EmailVerificationStage.handle": "an operator's account without an address has none to confirm",
    "ChangeList.get_ordering_field": "`get_changelist` is documented, for lists that do what Django's does not",
    "ChangeList.get_queryset": "as above",
    "ChangeList.url_for_result": "as above: Django resolves the address of each row again for the filters",
    "ChangeList.get_results": "as above",
    "ModelAdmin.get_object": "the one place where a page gets its record, and so where the record is masked",
    "ModelAdmin.urls": "the one place where every address of a model without a rule is refused to lenders",
    "ModelAdmin.history_view": "names the platform's people: refused to lenders before anything is read",
    "BaseModelAdmin.has_module_permission": "a lender's people have no permissions, which Django's asks for",
    "BaseModelAdmin.formfield_for_dbfield": "which providers may be chosen depends on who asks",
    "DatabaseWrapper.chunked_cursor": "the documented DISABLE_SERVER_SIDE_CURSORS takes cursors from transactions, too",
    "DatabaseWrapper.is_usable": "Django's own asks the server with a statement before every request",
    "Worker.load_wsgi": "gunicorn has no hook that ends a connection once the response is known",
    "ThreadWorker.set_accept_enabled": "gunicorn takes one's own worker, and has no hook for one that is to stop",
    "CharField.run_validation": "else an empty text would skip what the field asks of every text",
    "Serializer.get_fields": "a member named `from` or so cannot be written as a class attribute",
}


def _is_private(name: str) -> bool:
    return name.startswith("_") and name != "_" and not (name.startswith("__") and name.endswith("__"))


def _targets(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the targets of an assignment."""
    assigned = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign | ast.AugAssign):
        assigned = [node.target]
    for target in assigned:
        yield from target.elts if isinstance(target, ast.Tuple) else [target]


def _own_names(tree: ast.Module) -> set[str]:
    """Return the underscored names that a module defines, also as attributes of its own objects."""
    names = {
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    for node in ast.walk(tree):
        for target in _targets(node):
            if isinstance(target, ast.Name):
                names.add(target.id)
            elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
                names.add(target.attr)
    return names


def _imported_names(tree: ast.Module) -> set[str]:
    return {
        (alias.asname or alias.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }


def _root(node: ast.expr) -> str:
    """Return the name at the start of `name.attribute[...]`, or an empty string."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _by_name(node: ast.AST) -> str:
    """Return the attribute named in a call of getattr, setattr, hasattr or delattr, or an empty string."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) > 1:
        name = node.args[1]
        if node.func.id in {"getattr", "setattr", "hasattr", "delattr"} and isinstance(name, ast.Constant):
            return str(name.value)
    return ""


def uses_of_private_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield (line, name) of each underscored name that the module does not define, and of each replaced name."""
    own, imported = _own_names(tree) | set(DOCUMENTED_ATTRIBUTES), _imported_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _is_private(node.attr) and node.attr not in own:
            yield node.lineno, node.attr
        if isinstance(node, ast.ImportFrom | ast.Import):
            module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                if any(map(_is_private, f"{module}.{alias.name}".split("."))):
                    yield node.lineno, f"{module}.{alias.name}"
        if _is_private(name := _by_name(node)):
            yield node.lineno, name
        for target in _targets(node):
            if isinstance(target, ast.Attribute) and _root(target) in imported:
                yield target.lineno, f"{ast.unparse(target)} is replaced"


def overrides() -> Iterator[tuple[str, str, str]]:
    """Yield each of our methods that overrides a dependency's: our class, the dependency's class, the method.

    Underscored class attributes count, too. Python's standard library is documented, and skipped.
    """
    known = {*PACKAGES, *sys.stdlib_module_names}
    for module, (_, tree) in sources().items():
        if ".migrations" in module or module.endswith(".wsgi"):
            continue
        for node in tree.body:
            if not isinstance(node, ast.ClassDef):
                continue
            cls = getattr(importlib.import_module(module), node.name)
            names = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
            names |= {
                target.id
                for part in node.body
                for target in _targets(part)
                if isinstance(target, ast.Name) and _is_private(target.id)
            }
            for name in names:
                if name.startswith("__"):
                    continue
                for base in cls.__mro__[1:]:
                    if base.__module__.partition(".")[0] not in known and name in vars(base):
                        yield f"{module}.{node.name}", base.__qualname__, name
                        break


def test_product_code_uses_no_private_name_of_a_dependency():
    texts = [
        f"{path}:{line}: {name}" for path, tree in sources().values() for line, name in uses_of_private_names(tree)
    ]
    assert texts == []


def test_private_name_check_finds_private_names():
    program = """
import package
from package.utils import _helper
package.LIMIT = 1
class Own:
    def __init__(self, other):
        self._mine, self.name = other._theirs, getattr(other, "_theirs_too", None)
        print(self._mine, self._inherited, other._meta)
"""
    names = [name for _, name in uses_of_private_names(ast.parse(program))]
    assert sorted(names) == sorted(
        ["package.utils._helper", "package.LIMIT is replaced", "_theirs", "_theirs_too", "_inherited"]
    )


def test_overridden_methods_of_a_library_are_documented_by_the_library_or_listed_as_exceptions():
    overridden = {f"{base}.{name}": cls for cls, base, name in overrides()}
    documented = {f"{base}.{name}" for base, names in DOCUMENTED_METHODS.items() for name in names.split()}
    unknown = {method: cls for method, cls in overridden.items() if method not in documented | EXCEPTIONS.keys()}
    assert unknown == {}
    assert EXCEPTIONS.keys() <= overridden.keys(), "an exception that nothing needs any more"
