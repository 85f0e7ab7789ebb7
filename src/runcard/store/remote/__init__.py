"""Archives in object storage: S3, Google Cloud Storage and Azure, by URL.

`bucket` is the only module that calls the storage libraries, and they are imported only where a URL is used. Credentials come
from the environment, or from the files of the vendor's own tools; they are never in a URL, a record, a log or an error.
"""
