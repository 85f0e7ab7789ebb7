"""Labels: texts that name a secret for people and are none, `Passwort`, `Mot de passe`, `API key`.

Translations have them under the same names that secrets have: `"password": "Contraseña"`.

Invariant: a text with a digit is not a label.
"""

import re

from runcard.masking.secret_names import word_set

_WORDS = word_set(
    "passwort kennwort geheimnis schlüssel contraseña contrasena clave secreto llave passe clé jeton senha chave parola "
    "segreto chiave wachtwoord geheim sleutel lösenord hemlighet nyckel passord adgangskode kodeord nøgle nøkkel salasana "
    "avain hasło klucz heslo klíč jelszó kulcs parolă şifre anahtar пароль ключ секрет токен лозинка κωδικός κλειδί סיסמה "
    "パスワード シークレット トークン キー 密码 密碼 密钥 密鑰 口令 令牌 비밀번호 암호 키 khẩu sandi รหัสผ่าน"
)
_ENDS = ("passwort", "kennwort", "schlüssel", "wachtwoord", "lösenord")  # of compounds
_ENGLISH = word_set("password passphrase passcode secret token key credentials")  # alone, only with a capital


def is_label(value: str) -> bool:
    """Whether `value` is the name of a secret in some language, and not a secret."""
    text = _as_utf8(value)
    words = re.findall(r"[^\W\d_]+", text)
    if not words or any(map(str.isdigit, text)):
        return False
    known = _WORDS | _ENGLISH if len(words) > 1 or words[0][:1].isupper() else _WORDS
    return any(word.lower() in known or word.lower().endswith(_ENDS) for word in words)


def _as_utf8(value: str) -> str:
    """Values from a text come as Latin-1, one character for each byte; here they are read as what they are."""
    try:
        return value.encode("latin-1").decode("utf-8")
    except ValueError:
        return value
