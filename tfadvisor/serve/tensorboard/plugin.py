"""The tab's routes: which runs there are, one run's report, the page, and TensorBoard's
own frontend for it.
"""

from __future__ import annotations

import functools
import json
import re
import socket
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
from tensorboard.backend import http_util
from tensorboard.plugins import base_plugin
from werkzeug import wrappers

from tfadvisor.serve.tensorboard.analyses import VISITOR, Analyses, PendingAnalysis
from tfadvisor.serve.tensorboard.cache import open_cache
from tfadvisor.serve.tensorboard.listing import ListedRun, Listing, roots_of
from tfadvisor.version import VERSION

_JSON = "application/json"
_LONGEST_WAIT_S = 600
_DIGITS = 9
_OWN_SITES = ("same-origin", "none")
_LASTING_S = 24 * 3600
_TRACE_VIEWER = "../../../?tool=trace_viewer&run={run}&host={host}#profile"
"""From the folder of the plugin's routes to XProf's tab."""

App = Callable[[wrappers.Request], wrappers.Response]


class AdvisorPlugin(base_plugin.TBPlugin):  # type: ignore[misc]
    """One for the whole server; its routes are asked from many threads."""

    plugin_name = "tfadvisor"

    def __init__(self, context: Any) -> None:
        """context: TensorBoard's."""
        roots = roots_of(context.logdir, getattr(context.flags, "logdir_spec", None))
        self._plugins: Mapping[str, Any] = context.plugin_name_to_instance or {}
        self._listing = Listing(roots)
        self._analyses = Analyses(open_cache([root for _, root in roots]))

    def get_plugin_apps(self) -> dict[str, Any]:
        """By route, below `data/plugin/tfadvisor`."""
        apps = {route: _file_app(route) for route in files()}
        apps["/tab.html"] = self._beginning(apps["/tab.html"])
        apps["/runs"] = self._runs
        apps["/report"] = self._report
        apps["/page"] = self._page
        apps["/comparison"] = self._comparison
        apps["/step"] = self._step

        served = {}
        for route, app in apps.items():
            served[route] = wrappers.Request.application(_only_reading(app))
        return served

    def is_active(self) -> bool:
        """Whether the logdir holds a run, as far as is known now."""
        return bool(self._listing.known())

    def frontend_metadata(self) -> Any:
        """How TensorBoard shows the tab."""
        return base_plugin.FrontendMetadata(
            es_module_path="/index.js", tab_name="Advisor"
        )

    def _beginning(self, document: App) -> App:
        """Begins to read the run that the document is going to ask for."""

        def serve(request: wrappers.Request) -> wrappers.Response:
            runs = self._listing.known()
            listed = runs.get(request.args.get("run", ""))
            if runs:
                newest = next(iter(runs.values()))
                self._analyses.page(listed or newest)
            return document(request)

        return serve

    def _runs(self, request: wrappers.Request) -> wrappers.Response:
        listed = self._listing.current()
        runs = [self._about(name, listed_run) for name, listed_run in listed.items()]
        return _json(request, {"version": VERSION, "runs": runs})

    def _about(
        self,
        name: str,
        listed_run: ListedRun,
    ) -> dict[str, Any]:
        """A run of the list, for the page."""
        viewer = None
        if listed_run.for_xprof and "profile" in self._plugins:
            viewer = _TRACE_VIEWER.replace("{run}", quote(name, safe=""))
        return {
            "name": name,
            "hosts": len(listed_run.run.files),
            "bytes": listed_run.bytes,
            "recorded": listed_run.recorded,
            "stamp": listed_run.stamp,
            "trace_viewer": viewer,
            "told": self._analyses.told(listed_run),
        }

    def _page(self, request: wrappers.Request) -> wrappers.Response:
        """The data of a run's page, or how far its analysis is."""
        listed = self._asked_for(request)
        if listed is None:
            return _unknown(request)
        found = self._analyses.page(listed, again="again" in request.args)
        return _packed(request, found)

    def _step(self, request: wrappers.Request) -> wrappers.Response:
        """One step of a host with all of its threads, or how far it is; only steps that
        the run has.
        """
        listed = self._asked_for(request)
        index = request.args.get("index", "")
        if listed is None or not index.isdecimal() or len(index) > _DIGITS:
            return _unknown(request)
        host = request.args.get("host", "")
        if not self._analyses.has_step(listed, host, int(index)):
            return _unknown(request)
        found = self._analyses.step(
            listed,
            host,
            int(index),
        )
        return _packed(request, found)

    def _comparison(self, request: wrappers.Request) -> wrappers.Response:
        """The causes of the change of the step time from `base` to `run`, once the
        pages of both were there.
        """
        new = self._asked_for(request)
        base = self._asked_for(request, "base")
        if new is None or base is None:
            return _unknown(request)
        found = self._analyses.comparison(new, base)
        if found is None:
            return _json(request, {"state": "waiting", "error": None})
        if isinstance(found, bytes):
            return http_util.Respond(request, found, _JSON)
        return _json(request, found.told())

    def _report(self, request: wrappers.Request) -> wrappers.Response:
        """The JSON report; waits for it."""
        listed = self._asked_for(request)
        if listed is None:
            return _unknown(request)
        found = self._analyses.report(listed)
        if isinstance(found, PendingAnalysis):
            found.ended.wait(_LONGEST_WAIT_S)
            if found.error is not None:
                return _json(request, {"error": found.error}, 422)
            found = self._analyses.report(listed)
        if isinstance(found, PendingAnalysis):
            return _json(request, found.told(), 503)
        return http_util.Respond(request, found, _JSON)

    def _asked_for(
        self,
        request: wrappers.Request,
        argument: str = "run",
    ) -> ListedRun | None:
        """The run that the request names, which is never made into a path; without a
        name the newest.
        """
        name = request.args.get(argument)
        runs = self._listing.known()
        if name is not None and name not in runs:
            runs = self._listing.current()
        if name is None:
            return next(iter(runs.values()), None)
        return runs.get(name)


def _file_app(route: str) -> App:
    file = files()[route]

    expires = _LASTING_S if file.lasting else 0

    def serve(request: wrappers.Request) -> wrappers.Response:
        return http_util.Respond(
            request,
            file.content,
            file.kind,
            expires=expires,
        )

    return serve


def _only_reading(app: App) -> App:
    def checked(request: wrappers.Request) -> wrappers.Response:
        if request.method not in ("GET", "HEAD"):
            return _json(request, {"error": "only GET"}, 405)
        if _is_foreign(request):
            return _json(request, {"error": "only for TensorBoard's own pages"}, 403)
        VISITOR.set(request.remote_addr or "")
        return app(request)

    return checked


def _is_foreign(request: wrappers.Request) -> bool:
    """Whether another site's page asks."""
    site = request.headers.get("Sec-Fetch-Site")  # browsers add it, no page changes it
    if site is None:
        return _by_foreign_name(request)
    return site not in _OWN_SITES


def _by_foreign_name(request: wrappers.Request) -> bool:
    """Whether this machine was asked from itself by a name that it does not have: a
    page of that name may have given it our address (DNS rebinding). Browsers say where
    a request is from only over https, or to this machine by its own names.
    """
    host = re.sub(
        r":\d*$",
        "",
        request.headers.get("Host", ""),
    )
    name = host.strip("[]").lower()
    own_names = ("", "localhost", socket.gethostname().lower())
    if name in own_names or name.endswith(".localhost") or _is_address(name):
        return False
    asked_from = request.remote_addr or ""
    return asked_from.startswith(("127.", "::1", "::ffff:127."))


def _is_address(name: str) -> bool:
    try:
        return bool(ip_address(name.partition("%")[0]))
    except ValueError:
        return False


def _unknown(request: wrappers.Request) -> wrappers.Response:
    return _json(request, {"error": "the logdir holds no such run"}, 404)


def _packed(
    request: wrappers.Request,
    found: bytes | PendingAnalysis,
) -> wrappers.Response:
    if isinstance(found, PendingAnalysis):
        return _json(request, found.told())
    return http_util.Respond(request, found, _JSON, content_encoding="gzip")


def _json(
    request: wrappers.Request,
    content: Any,
    code: int = 200,
) -> wrappers.Response:
    return http_util.Respond(
        request,
        json.dumps(content),
        _JSON,
        code=code,
    )


# The report's page taken apart for a server: a document without data, its script and
# its styles as files of their own.

ENTRY = """\
export function render() {
  let run = "";
  try {
    run = /[#&]p\\.tfadvisor\\.run=([^&]*)/.exec(parent.location.hash)?.[1] ?? "";
  } catch {
    // Inside a page of another origin.
  }
  const page = run === "" ? "tab.html" : `tab.html?run=${run}`;
  location.replace(new URL(page, document.baseURI));
}
"""
"""What TensorBoard imports into the tab's frame; `document.baseURI` is the folder of
the plugin's routes.

It names the run that is going to be shown, so that its analysis begins while the
browser still loads the page."""

_PAGE = Path(__file__).parents[2] / "report" / "forms" / "page.html"
_POLICY = (
    "default-src 'none'; connect-src 'self'; script-src 'self'; style-src 'self'; "
    "img-src data:; base-uri 'none'; "
    "form-action 'none'; require-trusted-types-for 'script'; trusted-types default"
)


class File(msgspec.Struct, frozen=True):
    """What a route serves. lasting: its address changes with its content."""

    content: str
    kind: str
    lasting: bool


@functools.cache
def files() -> Mapping[str, File]:
    """By route."""
    page = _PAGE.read_text(encoding="utf-8")
    (styles,) = re.findall(
        r"<style>(.*?)</style>",
        page,
        re.S,
    )
    (script,) = re.findall(
        r"<script>(.*?)</script>",
        page,
        re.S,
    )
    sources = re.findall(r'<meta name="sources" content="([0-9a-f]+)">', page)
    version = sources[0][:16]

    link = f'<link rel="stylesheet" href="tab.css?{version}">'
    page = page.replace(f"<style>{styles}</style>", link)
    source = f'<script src="tab.js?{version}"></script>'
    page = page.replace(f"<script>{script}</script>", source)
    page = page.replace('<script id="data" type="application/json"></script>\n', "")
    page = page.replace("<html ", '<html data-served="" ', 1)
    page = re.sub(
        r'(http-equiv="Content-Security-Policy" content=)"[^"]*"',
        rf'\1"{_POLICY}"',
        page,
    )
    return {
        "/index.js": File(ENTRY, "application/javascript", lasting=False),
        "/tab.html": File(page, "text/html", lasting=False),
        "/tab.css": File(styles, "text/css", lasting=True),
        "/tab.js": File(script, "application/javascript", lasting=True),
    }
