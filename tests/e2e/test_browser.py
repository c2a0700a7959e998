"""The page in Chromium: chat, stop, live numbers, keys, narrow screens."""

import os
import shutil

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                     "--window-size=1200,760"):  # fmt: skip
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


@pytest.fixture()
def page(browser, server):
    browser.set_window_size(1200, 760)
    browser.get(server.url + "/")
    until(browser, lambda d: d.find_element(By.ID, "state").text == "ready")
    return browser


def until(driver, condition):
    WebDriverWait(driver, 60, poll_frequency=0.1).until(condition)


def send(page, text):
    box = page.find_element(By.ID, "prompt")
    box.send_keys(text, Keys.ENTER)


def messages(page, role):
    return [m.text for m in page.find_elements(By.CSS_SELECTOR, f".message.{role}")]


def test_chat_streams_an_answer(page):
    page.find_element(By.ID, "temperature").clear()
    page.find_element(By.ID, "temperature").send_keys("0")
    page.find_element(By.ID, "tokens").clear()
    page.find_element(By.ID, "tokens").send_keys("48")
    send(page, "Write one sentence about a river.")
    until(page, lambda d: d.find_elements(By.CSS_SELECTOR, ".message.assistant .facts"))
    answer = messages(page, "assistant")[0]
    assert "tokens/s" in answer and "first token" in answer and len(answer) > 60
    if folder := os.environ.get("WEIR_SCREENSHOTS"):
        page.save_screenshot(os.path.join(folder, "page.png"))
    errors = [entry for entry in page.get_log("browser") if entry["level"] == "SEVERE"]
    assert not errors


def test_escape_stops_and_frees(page, server):
    page.find_element(By.ID, "tokens").clear()
    page.find_element(By.ID, "tokens").send_keys("3000")
    send(page, "Tell me a very long story about a river, with many chapters.")
    until(page, lambda d: len(messages(d, "assistant")[0]) > 30)
    page.find_element(By.ID, "prompt").send_keys(Keys.ESCAPE)
    until(page, lambda d: "stopped" in messages(d, "assistant")[0])
    server.wait_for("no running", lambda: server.metric("vllm:num_requests_running") == 0)
    assert page.find_element(By.ID, "send").is_displayed()


def test_stop_button_shows_only_while_running(page):
    stop = page.find_element(By.ID, "stop")
    assert not stop.is_displayed()
    send(page, "Count from one to five hundred.")
    until(page, lambda d: stop.is_displayed())
    stop.click()
    until(page, lambda d: not stop.is_displayed())


def test_live_numbers_and_facts(page):
    send(page, "Say hello.")
    until(page, lambda d: d.find_elements(By.CSS_SELECTOR, ".message.assistant .facts"))
    until(page, lambda d: float(d.find_element(By.ID, "finished").text) > 0)
    for name in (
        "generated",
        "running",
        "waiting",
        "kv",
        "ttft",
        "context",
        "kvsize",
        "isa",
        "memory",
    ):
        # Rates need two polls of /metrics, a second apart.
        until(page, lambda d, name=name: d.find_element(By.ID, name).text not in ("", "–"))


def test_an_error_is_shown(page):
    page.find_element(By.ID, "temperature").clear()
    page.find_element(By.ID, "temperature").send_keys("7")
    send(page, "x")
    until(page, lambda d: d.find_elements(By.CSS_SELECTOR, ".message.error"))
    assert "temperature" in messages(page, "error")[0]


def test_narrow_screen(browser, server):
    browser.set_window_size(400, 800)
    browser.get(server.url + "/")
    until(browser, lambda d: d.find_element(By.ID, "state").text == "ready")
    width = browser.execute_script("return document.documentElement.scrollWidth")
    assert width <= browser.execute_script("return window.innerWidth")
    assert browser.find_element(By.ID, "send").is_displayed()


def test_docs_page_and_openapi(browser, server):
    schema = server.client.get("/openapi.json").json()
    assert "/v1/chat/completions" in schema["paths"]
    browser.get(server.url + "/docs")
    text = browser.find_element(By.TAG_NAME, "body").text
    assert "/v1/chat/completions" in text and "max_tokens" in text
    outside = browser.execute_script(
        "return performance.getEntriesByType('resource').map(r => r.name)"
        ".filter(n => !n.startsWith(location.origin))"
    )
    assert outside == []
