"""ReFrame's settings of this site, made from the file site.yaml beside this one."""

import pathlib

from reframe_checks.base.site_settings import site_configuration_of

site_configuration = site_configuration_of(pathlib.Path(__file__).resolve().parent)
