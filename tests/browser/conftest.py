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
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def desk(browser):
    """One context for all pages of JupyterLab, so that its scripts are fetched once."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    context.set_default_timeout(30_000)
    yield context
    context.close()


@pytest.fixture
def page(browser):
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    context.set_default_timeout(30_000)
    yield context.new_page()
    context.close()
