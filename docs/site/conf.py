# How Sphinx makes the site. tools/build_site.py copies this file beside the pages and runs Sphinx there.
import os

project = "Lethe"
author = "the authors of Lethe"
version = release = os.environ.get("LETHE_VERSION", "")
copyright = ""

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 6  # as code hosts make them
highlight_language = "text"
pygments_style = "friendly"
pygments_dark_style = "monokai"
suppress_warnings = ["misc.highlighting_failure"]  # sessions hold more than a shell's words
smartquotes = False  # --option stays --option

html_theme = "furo"
html_title = f"Lethe {release}"
html_static_path = ["static"]
html_css_files = ["style.css"]
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_show_search_summary = False  # it is fetched, which pages in a folder cannot do
html_use_index = False
html_domain_indices = False
html_theme_options = {"navigation_with_keys": True}
