"""Tests of pages in a browser without a screen, and the widths of its window."""

import unittest

from selenium import webdriver

WIDE, DESKTOP, NARROW, PHONE = 1400, 1280, 800, 400


def browser():
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options)


class BrowserTest(unittest.TestCase):
    """Tests that share one browser."""

    @classmethod
    def setUpClass(cls):
        cls.driver = browser()
        cls.addClassCleanup(cls.driver.quit)

    def show(self, page, width=DESKTOP, height=900):
        """Opens a file. Chromium has no narrower window than 500 pixels, so a phone is emulated."""
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
        self.driver.get(page.as_uri())
