"""Secrets that their own shape gives away: key blocks, and the tokens of vendors by their prefixes.

The list follows the redaction floor of OpenClaw and the vendors' own documents.
"""

from __future__ import annotations

from typing import Final

from exporter.redaction.rule import SecretRule, is_dense

_BEGIN: Final = r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"

KEY_BLOCKS: Final = (
    SecretRule("private-key", rf"(?s){_BEGIN}.*?-----END [A-Z0-9 ]*-----"),
    # The end of the key was cut off: everything that looks like its body goes, quoted and escaped, too.
    SecretRule("private-key", rf"{_BEGIN}(?:[\sA-Za-z0-9+/=\\:,>|\"']|-[A-Za-z0-9])*"),
    # Its beginning was cut off.
    SecretRule(
        "private-key", r"(?:[A-Za-z0-9+/=]{16,}(?:\\+[nr]|[\s>|\"'+])+)+-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
    ),
)


# Markdown's emphasis may stand before it. It is no part of the secret, which costs less to see without a group.
_FRONT: Final = r"\b_{0,2}"


def _token(kind: str, shape: str) -> SecretRule:
    """A token that its own prefix gives away. No group: finding where one begins costs more than all the rest."""
    return SecretRule(kind, rf"{_FRONT}(?:{shape})", wraps=True)


def _glued_token(kind: str, shape: str) -> SecretRule:
    """A token with a prefix that no word ends in, known also right behind a letter, a digit or `_`."""
    return SecretRule(kind, shape, wraps=True)


def _dense_token(kind: str, shape: str) -> SecretRule:
    """A token whose prefix is too short to be trusted alone."""
    return SecretRule(kind, rf"{_FRONT}(?:{shape})", is_dense, wraps=True)


VENDOR_TOKENS: Final = (
    _token("anthropic-key", r"sk-ant-[A-Za-z0-9_-]{8,}"),
    _dense_token("openai-key", r"sk-[A-Za-z0-9_-]{8,}"),
    _token("github-token", r"gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}"),
    _token("gitlab-token", r"gl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|soat|agent|imt|ffct|wt)-[A-Za-z0-9_.-]{16,}"),
    _token("slack-token", r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}"),
    _token("slack-webhook", r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{16,}"),
    _token("discord-webhook", r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d+/[A-Za-z0-9_-]{16,}"),
    _token("webhook", r"open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/[\w-]{16,}"),
    _token("webhook", r"maker\.ifttt\.com/trigger/\w+/(?:json/)?with/key/[\w-]{16,}"),
    _token("webhook", r"hooks\.zapier\.com/hooks/catch/\d+/\w{5,}|[\w-]+\.webhook\.office\.com/webhookb2/[\w@/-]{16,}"),
    _dense_token("discord-token", r"[MNO][A-Za-z\d_-]{23,27}\.[A-Za-z\d_-]{6}\.[A-Za-z\d_-]{27,}"),
    _glued_token("aws-key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b|ABSK[A-Za-z0-9+/]{60,}={0,2}"),
    _token("aws-key", r"amzn\.mws\.[0-9a-f-]{32,}"),
    _glued_token("google-key", r"AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_.-]{16,}|GOCSPX-[A-Za-z0-9_-]{16,}"),
    _dense_token("google-refresh-token", r"1//0[A-Za-z0-9_-]{24,}"),
    _token("azure-secret", r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,}"),
    _token("stripe-key", r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{8,}|whsec_[A-Za-z0-9+/=]{16,}"),
    _token("square-token", r"sq0[a-z]{3}-[A-Za-z0-9_-]{20,}|EAAA[A-Za-z0-9_-]{56,}"),
    _dense_token("facebook-token", r"EAA[A-Za-z0-9]{40,}"),
    _token("jwt", r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+)*"),
    _token("jwt", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.?"),
    _token("groq-key", r"gsk_[A-Za-z0-9]{16,}"),
    _token("xai-key", r"xai-[A-Za-z0-9_-]{16,}"),
    _glued_token("perplexity-key", r"pplx-[A-Za-z0-9_-]{16,}"),
    _token("huggingface-token", r"hf_[A-Za-z0-9]{16,}|api_org_[A-Za-z0-9]{16,}"),
    _dense_token("replicate-token", r"r8_[A-Za-z0-9]{16,}"),
    _dense_token("nvidia-key", r"nvapi-[A-Za-z0-9_-]{16,}"),
    _dense_token("cerebras-key", r"csk-[A-Za-z0-9_-]{16,}"),
    _dense_token("pinecone-key", r"pcsk_[A-Za-z0-9_]{16,}"),
    _glued_token("langsmith-key", r"lsv2_[a-z]{2}_[A-Za-z0-9_]{16,}"),
    _token("npm-token", r"npm_[A-Za-z0-9]{16,}"),
    _token("pypi-token", r"pypi-[A-Za-z0-9_-]{48,}"),
    _dense_token("pypi-token", r"pypi-[A-Za-z0-9_-]{16,}"),
    _glued_token("rubygems-key", r"rubygems_[a-f0-9]{24,}"),
    _glued_token("clojars-token", r"CLOJARS_[A-Za-z0-9]{24,}"),
    _token("sendgrid-key", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    _glued_token("brevo-key", r"x(?:key|smtp)sib-[A-Za-z0-9-]{24,}"),
    _token("mailgun-key", r"key-[0-9a-f]{32}\b|[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b"),
    _token("mailchimp-key", r"[0-9a-f]{32}-us\d{1,2}\b"),
    _glued_token("digitalocean-token", r"do[opr]_v1_[A-Fa-f0-9]{16,}"),
    _glued_token("docker-token", r"dckr_[po]at_[A-Za-z0-9_-]{16,}"),
    _dense_token("doppler-token", r"dp\.(?:pt|st|sa|ct|scim|audit)\.[A-Za-z0-9._-]{16,}"),
    _token("vault-token", r"hv[sbr]\.[A-Za-z0-9_-]{20,}"),
    _token("terraform-token", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}"),
    _token("pulumi-token", r"pul-[a-f0-9]{40}\b"),
    _glued_token("planetscale-token", r"pscale_(?:pw|tkn|oauth)_[A-Za-z0-9_.=-]{16,}"),
    _token("databricks-token", r"dapi[a-f0-9]{32}(?:-\d)?"),
    _glued_token("grafana-token", r"glsa_[A-Za-z0-9_]{16,}|glc_[A-Za-z0-9+/=]{16,}"),
    _glued_token("sentry-token", r"sntry[su]_[A-Za-z0-9+/=_-]{24,}"),
    _glued_token("newrelic-key", r"NR(?:AK|II|JS|RA)-[A-Za-z0-9]{16,}"),
    _token("dynatrace-token", r"dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{60,}"),
    _token("supabase-token", r"sbp_[A-Za-z0-9]{16,}|sb_secret_[A-Za-z0-9_-]{16,}"),
    _token("netlify-token", r"nfp_[A-Za-z0-9]{16,}"),
    _dense_token("vercel-token", r"vc[apkr]_[A-Za-z0-9]{20,}"),
    _glued_token("contentful-token", r"CFPAT-[A-Za-z0-9_-]{16,}"),
    _glued_token("atlassian-token", r"(?:ATCTT3|ATATT|ATBB)[A-Za-z0-9_=-]{16,}|BBDC-[A-Za-z0-9+/=_-]{16,}"),
    _token("airtable-token", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{40,}"),
    _glued_token("figma-token", r"fig[dour]_[A-Za-z0-9_-]{20,}"),
    _glued_token("postman-key", r"PMAK-[A-Za-z0-9-]{24,}"),
    _token("typeform-token", r"tfp_[A-Za-z0-9_-]{20,}"),
    _token("heroku-key", r"HRKU-[A-Za-z0-9_-]{16,}"),
    _token("hubspot-token", r"pat-(?:eu|na)\d-[A-Za-z0-9-]{16,}"),
    _glued_token("apify-token", r"apify_api_[A-Za-z0-9]{16,}"),
    _token("fly-token", r"FlyV1 [A-Za-z0-9_,+/=.-]{16,}|fo1_[A-Za-z0-9_-]{16,}|fm[12][ar]?_[A-Za-z0-9+/=]{24,}"),
    _glued_token("tavily-key", r"tvly-[A-Za-z0-9_-]{12,}"),
    _token("buildkite-token", r"bkua_[A-Za-z0-9]{16,}"),
    _glued_token("circleci-token", r"CCIPAT_[A-Za-z0-9_]{16,}"),
    _token("jfrog-token", r"AKCp[A-Za-z0-9]{40,}"),
    _token("sourcegraph-token", r"sgp_[A-Za-z0-9_]{30,}"),
    _glued_token("onepassword-token", r"ops_eyJ[A-Za-z0-9_=-]{40,}"),
    _token("browserbase-key", r"bb_live_[A-Za-z0-9_-]{12,}"),
    _token("matrix-token", r"syt_[A-Za-z0-9_+/=-]{16,}"),
    _glued_token("age-key", r"AGE-SECRET-KEY-1[A-Z0-9]{16,}"),
    _glued_token("shopify-token", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{16,}"),
    _token("linear-key", r"lin_(?:api|oauth)_[A-Za-z0-9]{16,}"),
    _token("notion-token", r"(?:ntn|secret)_[A-Za-z0-9]{40,}"),
    _token("fernet-token", r"gAAAAA[A-Za-z0-9_-]{32,}={0,2}"),
    _dense_token("twilio-key", r"SK[0-9a-f]{32}\b"),
    _dense_token("alibaba-key", r"LTAI[A-Za-z0-9]{12,}"),
    _dense_token("tencent-key", r"AKID[A-Za-z0-9]{13,}"),
    _dense_token("fireworks-key", r"fw[-_][A-Za-z0-9]{20,}|fpk_[A-Za-z0-9]{16,}"),
    _dense_token("api-key", r"(?:fal|exa|brv|retaindb|mem0|am|sk|ddp|ddw)_[A-Za-z0-9_-]{20,}"),
    _dense_token("api-key", r"(?:fc|hsk|fio-u)-[A-Za-z0-9_-]{20,}"),
    _glued_token("api-key", r"tskey-[a-z]+-[A-Za-z0-9-]{16,}|tgp_v1_[A-Za-z0-9_-]{24,}|jina_[A-Za-z0-9_-]{32,}"),
    _dense_token("api-key", r"BSA[A-Za-z0-9_-]{24,}|AQVN[A-Za-z0-9_-]{32,}|pa-[A-Za-z0-9_-]{40,}"),
    _dense_token("api-key", r"(?:ph[xs]|rnd|waka|pn[ub]|rdme|napi)_[A-Za-z0-9-]{24,}"),
    _dense_token("api-key", r"re_[A-Za-z0-9]{6,}_[A-Za-z0-9]{20,}"),
    _dense_token("api-key", r"(?:(?:duffel|shippo)_)?live_[A-Za-z0-9_-]{32,}|FLWSECK(?:_TEST)?-[A-Za-z0-9]{24,}"),
    _dense_token("api-key", r"sl\.[A-Za-z0-9_.-]{60,}|sk\.eyJ[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    _dense_token("api-key", r"\d/\d{12,}(?:/\d{12,})?:[0-9a-f]{32}\b|sha256~[A-Za-z0-9_-]{40,}|oy2[a-z2-7]{43}\b"),
    _dense_token("api-key", r"nsec1[02-9ac-hj-np-z]{50,}|[xyz]prv[A-Za-z0-9]{100,}"),
    _token("jfrog-token", r"cmVmdGtu[A-Za-z0-9]{40,}"),
    _token("telegram-token", r"(?:bot)?\d{6,12}:[A-Za-z0-9_-]{30,}"),
    # Prefixes that a word may end in, as `risk-ant-`: behind one only with what else a token of this kind has.
    _glued_token("anthropic-key", r"sk-ant-[a-z]+\d\d-[A-Za-z0-9_-]{16,}"),
    _glued_token("openai-key", r"sk-proj-[A-Za-z0-9_-]{40,}|sk-or-v1-[0-9a-f]{40,}"),
    _glued_token("github-token", r"gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}"),
    _glued_token("gitlab-token", r"gl(?:pat|ptt|cbt|soat|ffct)-[A-Za-z0-9_.-]{16,}"),
    _glued_token("slack-token", r"xox[a-z](?:\.xox[a-z])?-\d[A-Za-z0-9-]{9,}|xapp-\d-[A-Za-z0-9-]{10,}"),
    _glued_token("stripe-key", r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{20,}"),
    _glued_token("huggingface-token", r"hf_[A-Za-z0-9]{30,}"),
    _glued_token("linear-key", r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}"),
    _glued_token("jwt", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    _glued_token("npm-token", r"npm_[A-Za-z0-9]{30,}"),
    _glued_token("sendgrid-key", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    SecretRule("password-hash", r"\$(?:2[abxy]|[156y]|apr1|argon2[a-z]*|scrypt)\$[./A-Za-z0-9$=,+]{20,}", wraps=True),
)
