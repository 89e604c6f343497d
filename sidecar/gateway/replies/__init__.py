"""Replies: what each route answers, field by field. The OpenAPI document is made of them.

A field that is `NotRequired` is left out where there is nothing to say. Clients ignore fields that they do not know.
"""
