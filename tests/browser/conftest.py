"""One JupyterLab and one Chromium for all browser tests, a fresh page for each."""
import pytest

playwright = pytest.importorskip("playwright.sync_api")

from tests.browser.lab import CHROMIUM, FLAGS, Lab


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    lab = Lab(tmp_path_factory.mktemp("lab"))
    yield lab
    lab.close()


@pytest.fixture(scope="session")
def browser():
    """One context for all pages, so that JupyterLab's scripts are fetched once."""
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context(viewport={"width": 1280, "height": 1000})
        context.set_default_timeout(30_000)
        yield context
        browser.close()


@pytest.fixture
def page(browser):
    page = browser.new_page()
    yield page
    page.close()
