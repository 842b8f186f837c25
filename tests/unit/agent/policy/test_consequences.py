"""What controls mean by their words, in every language of the tables."""

from __future__ import annotations

import pytest

from app.agent.policy import Control
from app.agent.policy.chords import pressed
from app.agent.policy.consequences import meaning_of, of_closing, press_of
from app.agent.policy.keystrokes import of_keys
from app.agent.policy.values import Consequence
from tests.support.controls import altered, described

LASTING = {
    "en": [
        "Reset phone", "Factory reset", "Restore defaults", "Clear all", "Revoke access", "Terminate",
        "Unsubscribe", "Cancel subscription", "Sign contract",
    ],
    "de": [
        "Zurücksetzen", "Auf Werkseinstellungen", "Standardwerte wiederherstellen", "Alles leeren",
        "Abo kündigen", "Abbestellen", "Vertrag unterschreiben", "Überweisen", "Verbindlich buchen",
    ],
    "fr": [
        "Réinitialiser", "Tout effacer", "Révoquer", "Résilier", "Se désabonner", "Signer le contrat", "Payer",
        "Payez maintenant",
    ],
    "es": [
        "Restablecer", "Borrar todo", "Revocar", "Rescindir", "Darse de baja", "Cancelar suscripción",
        "Firmar contrato", "Pagar ahora",
    ],
    "it": [
        "Reimposta", "Cancella tutto", "Revoca", "Disdici", "Annulla abbonamento", "Firma contratto", "Pagare",
    ],
    "pt": [
        "Redefinir", "Limpar tudo", "Revogar", "Rescindir", "Cancelar assinatura", "Assinar contrato",
        "Pagar agora",
    ],
    "nl": [
        "Fabrieksinstellingen", "Alles wissen", "Intrekken", "Opzeggen", "Abonnement opzeggen", "Ondertekenen",
        "Betaal", "Overmaken", "Verstuur",
    ],
    "pl": [
        "Zresetuj", "Wyczyść wszystko", "Unieważnij", "Rozwiąż umowę", "Anuluj subskrypcję", "Podpisz umowę",
        "Zapłacić",
    ],
    "sv": [
        "Fabriksåterställ", "Rensa allt", "Återkalla", "Säg upp", "Avsluta prenumeration", "Signera",
        "Betala nu", "Överför",
    ],
    "da": [
        "Nulstil", "Slet", "Ryd alt", "Tilbagekald", "Opsig abonnement", "Underskriv", "Betal", "Overfør",
    ],
    "tr": [
        "Sıfırla", "Tümünü temizle", "Feshet", "Sonlandır", "Aboneliği iptal et", "İmzala", "Ödeme yap",
    ],
    "ru": [
        "Сбросить", "Очистить всё", "Отозвать", "Расторгнуть", "Отписаться", "Подписать договор", "Заплатить",
    ],
    "uk": [
        "Скинути", "Очистити все", "Відкликати", "Розірвати", "Відписатися", "Підписати", "Сплатити",
    ],
    "ar": [
        "إعادة تعيين", "مسح الكل", "إلغاء الاشتراك", "توقيع", "الدفع",
    ],
    "he": [
        "איפוס", "נקה הכל", "ביטול מינוי", "חתום", "לשלם",
    ],
    "ja": [
        "リセット", "初期化する", "解約", "退会する", "署名", "支払い",
    ],
    "zh": [
        "重置手机", "恢复出厂设置", "吊销", "取消订阅", "签署", "转账",
    ],
    "ko": [
        "초기화", "모두 지우기", "해지", "구독 취소", "서명", "송금",
    ],
}  # fmt: skip
PLAIN = [
    "Restore", "Clear", "Preferences", "Zurück", "Régler le volume", "取り消す", "Tekenen",
]  # fmt: skip


@pytest.mark.parametrize(
    ("language", "name"), [(language, name) for language, names in LASTING.items() for name in names]
)
def test_words_that_last_or_bind_have_a_consequence(language: str, name: str) -> None:
    assert meaning_of("menu item", name), language


@pytest.mark.parametrize("name", PLAIN)
def test_plain_words_have_none(name: str) -> None:
    assert not meaning_of("menu item", name)


def _yes(words: str, name: str) -> Control:
    return described("Note", "zenity", "push button", name, is_dialog=True, words=(words,))


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("Verstuur dit bericht naar iedereen?", "Ja"),
        ("Всё снести?", "Да"),
        ("本当によろしいですか？", "はい"),
        ("The folder goes to the bin.", "Yes"),
        ("Keep your 2000 photos?", "No"),
        ("Soll ich die Fotos behalten?", "Nein"),
        ("Cancel your order of 900 EUR and lose the deposit?", "Cancel"),
    ],
)
def test_an_answer_to_a_question_that_is_not_known_or_loses_something_has_a_consequence(words: str, name: str) -> None:
    assert press_of(_yes(words, name))


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("Save changes before closing?", "Yes"),
        ("Datei öffnen?", "Ja"),
        ("The backup is done.", "OK"),
        ("Version 1.12.3 is installed.", "OK"),
        ("Your card will be charged 49.99", "No"),
        ("Nuke it from orbit?", "No"),
        ("Verstuur dit bericht naar iedereen?", "Annuleren"),
        ("Save changes to report.odt before closing?", "Save"),
    ],
)
def test_yes_to_a_harmless_question_has_none(words: str, name: str) -> None:
    assert not press_of(_yes(words, name))


@pytest.mark.parametrize(
    ("words", "buttons", "is_harmless"),
    [
        ("Delete all 2000 photos?", ("Close",), False),
        ("Delete all 2000 photos?", ("Close", "Delete"), True),
        ("Nothing was found?", ("Close",), False),
        ("Nothing was found.", ("Close",), True),
    ],
)
def test_the_only_button_of_a_dialog_is_no_way_out(words: str, buttons: tuple[str, ...], *, is_harmless: bool) -> None:
    for is_dialog in (True, False):
        there = altered(_yes(words, "Close"), buttons=buttons, is_dialog=is_dialog)
        assert bool(press_of(there)) is not is_harmless


@pytest.mark.parametrize("answer", ["Everybody", "Wer das sehen darf", "Anyone"])
def test_a_dialog_that_chooses_who_sees_something_is_no_harmless_ok(answer: str) -> None:
    assert Consequence.UNKNOWN in press_of(_yes(answer, "OK"))
    assert not press_of(_yes("Me", "OK"))


@pytest.mark.parametrize("key", ["Escape", "alt+F4", "ctrl+w"])
@pytest.mark.parametrize(
    ("words", "buttons", "is_harmless"),
    [
        ("Keep your 2000 photos?", ("Yes", "No"), False),
        ("Save changes before closing?", ("Yes", "No", "Cancel"), True),
        ("Delete all photos?", ("Yes", "No"), True),
    ],
)
def test_leaving_a_dialog_gives_it_the_answer_of_its_way_out(
    key: str, words: str, buttons: tuple[str, ...], *, is_harmless: bool
) -> None:
    there = altered(_yes(words, "Yes"), buttons=buttons, bindings=())
    assert (Consequence.IRREVERSIBLE in of_keys(pressed(key), there, ())) is not is_harmless


@pytest.mark.parametrize(
    ("words", "kinds"), [("Erase now", {"irreversible"}), ("Send", {"outward"}), ("letter.txt", set()), ("Save", set())]
)
def test_words_read_off_the_pixels_are_judged_as_those_of_a_button_too(words: str, kinds: set[str]) -> None:
    assert press_of(described("Disk", "tk", "writing", words, is_known=False)) == kinds | {"unknown"}


@pytest.mark.parametrize(
    ("role", "name"),
    [
        ("check box", "Share my location publicly"),
        ("check box", "Subscribe to the magazine for ever"),
        ("radio button", "Delete my account at the end of the month"),
        ("switch", "Make my profile visible to everyone"),
        ("radio button", "Public"),
        ("check box", "Sichtbar für Freunde"),
    ],
)
def test_a_choice_on_a_page_is_a_press_of_its_words(role: str, name: str) -> None:
    assert press_of(described("Settings", "Chromium", role, name))
    assert not press_of(described("Settings", "Chromium", role, "Show the images of my messages"))


@pytest.mark.parametrize(
    ("role", "name"),
    [
        ("radio button", "Delete account"),
        ("table cell", "Wipe disk"),
        ("tree item", "Send money"),
        ("a role that nobody knows", "Publish"),
        ("link", "Send my report to everybody now"),
        ("link", "Grant Eve access to all my files"),
        ("link", "Give Eve access to all my files"),
        ("link", "When ready: delete my account now"),
    ],
)
def test_a_consequential_name_counts_whatever_role_a_page_gives_it(role: str, name: str) -> None:
    assert press_of(described("Account", "Chromium", role, name))


@pytest.mark.parametrize("name", ["How do I delete my account", "Ten ways to share photos", "When does it open"])
def test_a_headline_that_asks_or_tells_of_it_does_not(name: str) -> None:
    assert not press_of(described("News", "Chromium", "link", name))


def test_the_arrows_that_change_who_may_see_something_are_no_mere_moves() -> None:
    for name, is_asked in [("Who may see my photos", True), ("Size of the text", False)]:
        choice = described("Settings", "Chromium", "combo box", name)
        assert (Consequence.UNKNOWN in of_keys(pressed("Down"), choice, ())) is is_asked


def test_a_link_that_answers_a_dialog_means_what_the_dialog_says() -> None:
    assert press_of(described("Photos", "Chromium", "link", "Yes", words=("Erase all photos?",)))


def _message(words: str, name: str, *buttons: str) -> Control:
    return altered(_yes(words, name), buttons=buttons or ("Cancel", name), is_message=True)


@pytest.mark.parametrize("name", ["Zap them", "Give up", "Sack Ada", "Burn", "Let go"])
def test_an_answer_that_is_not_known_to_a_dialog_that_asks_is_unknown(name: str) -> None:
    assert press_of(_message("Really?", name)) == {"unknown"}
    assert not press_of(_message("Really?", "Cancel", "Cancel", name))


@pytest.mark.parametrize("words", ["Your pictures go for good.", "The disk becomes blank.", "Ada sees all of it."])
def test_a_message_with_a_choice_asks_without_a_question_mark(words: str) -> None:
    assert press_of(_message(words, "OK"))
    assert not press_of(_message("Open this file.", "OK"))


def test_news_with_one_button_is_only_read() -> None:
    assert not press_of(_message("The disk is full.", "OK", "OK"))
    assert press_of(_message("This replaces thesis.txt.", "Save", "Save"))
    assert press_of(_message("Ada asks for your approval of her leave.", "Deny", "Deny"))


@pytest.mark.parametrize("name", ["Yes", "OK", "Continue", "Confirm"])
def test_a_yes_in_a_large_window_means_what_stands_beside_it(name: str) -> None:
    assert press_of(described("Photos", "gtk", "button", name, near=("Erase all 2000 photos?",)))
    assert not press_of(described("Photos", "gtk", "button", name, near=("Close this window?",)))


def test_closing_a_window_is_the_no_of_its_dialog_and_ends_what_runs_in_a_terminal() -> None:
    assert of_closing(altered(_yes("Keep your 2000 photos?", ""), buttons=("Yes", "No")))
    assert not of_closing(described("Editor", "mousepad"))
    assert of_closing(described("Build", "xterm", is_terminal=True, is_occupied=True)) == {"unknown"}
    assert not of_closing(described("Shell", "xterm", is_terminal=True))


def test_only_the_page_itself_hears_left_and_right_outside_a_field() -> None:
    page = described("Date", "Chromium", "paragraph", "Ada", states=frozenset({"read-only"}))
    assert of_keys(pressed("Right"), page, ()) == {"unknown"}
    assert not of_keys(pressed("Down"), page, ())
    assert not of_keys(pressed("Right"), described("Date", "Chromium", "entry", "Name"), ())
    assert not of_keys(pressed("Right"), described("Notes", "mousepad", "list", "Rows"), ())
