"""The extensions of JupyterLab that a page loads: all others of this machine stay out."""

EXTENSIONS = (
    "@jupyter-widgets/jupyterlab-manager",
    "@voila-dashboards/widgets-manager8",
    "anywidget",
)
