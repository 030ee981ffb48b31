"""A browser without a screen, and the widths of its window."""

from selenium import webdriver

WIDE, DESKTOP, NARROW, PHONE = 1400, 1280, 800, 400


def browser():
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options)


def emulate(driver, width):
    """Gives the window a width. Chromium has no narrower window than 500 pixels, so a phone is emulated."""
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
